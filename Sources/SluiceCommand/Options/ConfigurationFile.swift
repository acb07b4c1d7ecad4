internal import Configuration
internal import Glibc
internal import Operations
internal import Store

/// `sluice.yaml`: the one in the data directory where there is one, or that of `--config`, which must be there.
enum ConfigurationFile {
    static func operations(_ options: DataOptions, _ directory: DataDirectory) async throws -> OperationsConfiguration {
        guard let reader = try await reader(options, directory) else { return OperationsConfiguration() }
        do throws(ConfigurationError) {
            return try OperationsConfiguration(reading: reader)
        } catch {
            throw Complaint(.configuration, "\(error)")
        }
    }

    /// Nil where there is no configuration.
    private static func reader(_ options: DataOptions, _ directory: DataDirectory) async throws -> ConfigReader? {
        let path = options.config ?? directory.path + "/sluice.yaml"
        guard access(path, F_OK) == 0 || options.config != nil else { return nil }
        guard access(path, R_OK) == 0 else {
            throw Complaint(
                .configuration, "the configuration \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        // An empty file says nothing, which the parser would call an error.
        if stat(path, &status) == 0, status.st_size == 0 { return nil }
        let place = ConfigReader(provider: InMemoryProvider(values: ["filePath": ConfigValue(stringLiteral: path)]))
        do {
            return ConfigReader(provider: try await FileProvider<YAMLSnapshot>(config: place))
        } catch {
            throw Complaint(.configuration, "the configuration \(path) is no YAML that can be used: \(error)")
        }
    }
}
