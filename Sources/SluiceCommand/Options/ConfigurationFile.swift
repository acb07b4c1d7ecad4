internal import Configuration
internal import Coordination
internal import Glibc
internal import NetworkControl
internal import Operations
internal import Store
internal import Yams

/// `sluice.yaml`: the one in the data directory where there is one, or that of `--config`, which must be there. Environment
/// variables go before it: `network.level.poor.utility` is `SLUICE_NETWORK_LEVEL_POOR_UTILITY`, `upload.idleTimeout` is
/// `SLUICE_UPLOAD_IDLE_TIMEOUT`; lists are separated by commas.
struct ConfigurationFile {
    private let reader: ConfigReader
    /// Those of the file, such as `network.maxTransfers`.
    private let keys: [String]

    /// - Throws: a ``Complaint`` where there is a file that cannot be used.
    init(_ options: DataOptions, _ directory: DataDirectory) async throws {
        let environment = EnvironmentVariablesProvider().prefixKeys(with: "sluice")
        guard let path = try Self.path(options, directory) else {
            reader = ConfigReader(provider: environment)
            keys = []
            return
        }
        let place = ConfigReader(provider: InMemoryProvider(values: ["filePath": ConfigValue(stringLiteral: path)]))
        do {
            let file = try await FileProvider<YAMLSnapshot>(config: place)
            reader = ConfigReader(providers: [environment, file])
            keys = try Self.keys(of: Yams.compose(yaml: SmallFile.read(path) ?? ""))
        } catch {
            throw Complaint(.configuration, "the configuration \(path) is no YAML that can be used: \(error)")
        }
    }

    func operations() throws -> OperationsConfiguration {
        do throws(ConfigurationError) {
            return try OperationsConfiguration(reading: reader)
        } catch {
            throw Complaint(.configuration, "\(error)")
        }
    }

    func network() throws -> NetworkPolicy {
        do throws(PolicyError) {
            return try NetworkPolicy(reading: reader, keys: keys, variables: Self.variables)
        } catch {
            throw Complaint(.configuration, "\(error)")
        }
    }

    /// Names of environment variables.
    private static var variables: [String] {
        var names: [String] = []
        var next = environ
        while let entry = next.pointee {
            names.append(String(cString: entry).prefix { $0 != "=" }.description)
            next += 1
        }
        return names
    }

    /// Nil where there is no configuration.
    private static func path(_ options: DataOptions, _ directory: DataDirectory) throws -> String? {
        let path = options.config ?? directory.path + "/sluice.yaml"
        guard access(path, F_OK) == 0 || options.config != nil else { return nil }
        guard access(path, R_OK) == 0 else {
            throw Complaint(
                .configuration, "the configuration \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        var status = stat()
        // An empty file says nothing, which the parser would call an error.
        return stat(path, &status) == 0 && status.st_size == 0 ? nil : path
    }

    /// The library looks keys up and does not list them. A section without anything in it counts for nothing.
    private static func keys(of node: Node?, below prefix: String = "") -> [String] {
        guard let mapping = node?.mapping else { return node?.string == "" ? [] : [prefix] }
        return mapping.flatMap { key, value in
            keys(of: value, below: prefix.isEmpty ? key.string ?? "" : "\(prefix).\(key.string ?? "")")
        }
    }
}
