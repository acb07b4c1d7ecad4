internal import Configuration
internal import Coordination
internal import Glibc
internal import HTTPClient
internal import Host
internal import NetworkControl
internal import Operations
internal import Settings
internal import Store
internal import Yams

/// What `sluice.yaml` says: the one in the data directory where there is one, or that of `--config`, which must be there.
/// Environment variables go before it: `network.level.poor.utility` is `SLUICE_NETWORK_LEVEL_POOR_UTILITY`,
/// `upload.idleTimeout` is `SLUICE_UPLOAD_IDLE_TIMEOUT`; lists are separated by commas.
struct ConfigurationFile {
    private let operations: OperationsConfiguration
    let network: NetworkPolicy

    /// Reads the whole of it for every process, so that none starts with half of what was meant.
    ///
    /// - Throws: a ``ExitError`` where there is a file that cannot be used, or a key that nothing reads.
    init(_ options: DataOptions, _ directory: DataDirectory) async throws {
        let (configuration, keys) = try await Self.open(options, directory)
        var reader = SettingsReader(configuration)
        do throws(SettingsError) {
            operations = try OperationsConfiguration(reading: &reader)
            network = try NetworkPolicy(reading: &reader)
            try reader.refuseUnknown(keys)
            try reader.refuseUnknown(
                variables: Self.variables.filter { !operations.credentials.variables.contains($0) },
                of: ["network", "destination", "upload", "credential"])
        } catch {
            throw ExitError(.configuration, "\(error)")
        }
    }

    /// For whoever uploads. - Throws: a ``ExitError`` where a file is missing that it names.
    func uploads() throws -> OperationsConfiguration {
        do throws(SettingsError) { try operations.http.checkFiles() } catch {
            throw ExitError(.configuration, "\(error)")
        }
        var operations = operations
        operations.http.client.proxies = try proxies()
        return operations
    }

    /// Which requests go through a proxy, as the configuration and the environment of this process say.
    /// - Throws: a ``ExitError`` that names a variable that cannot be used.
    func proxies() throws -> ProxySettings {
        var http = operations.http
        do throws(SettingsError) {
            try http.readProxies { name in getenv(name).map { String(cString: $0) } }
        } catch {
            throw ExitError(.configuration, "\(error)")
        }
        return http.client.proxies
    }

    /// - Returns: and the keys of the file, such as `network.maxTransfers`.
    private static func open(
        _ options: DataOptions, _ directory: DataDirectory
    ) async throws -> (ConfigReader, keys: [String]) {
        let environment = EnvironmentVariablesProvider().prefixKeys(with: "sluice")
        guard let path = try path(options, directory) else { return (ConfigReader(provider: environment), []) }
        let place = ConfigReader(provider: InMemoryProvider(values: ["filePath": ConfigValue(stringLiteral: path)]))
        do {
            // Comments alone say nothing, which the parser would call an error.
            guard let root = try Yams.compose(yaml: SmallFile.read(path) ?? "") else {
                return (ConfigReader(provider: environment), [])
            }
            let file = try await FileProvider<YAMLSnapshot>(config: place)
            return (ConfigReader(providers: [environment, file]), keys(of: root))
        } catch {
            throw ExitError(.configuration, "the configuration \(path) is no YAML that can be used: \(error)")
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
        let path = options.config ?? directory.configuration
        func refuse(_ reason: String) -> ExitError {
            ExitError(.configuration, "the configuration \(path) cannot be read: \(reason)")
        }
        var status = stat()
        // A link to where nothing is, or where this user may not look, is no wish for the defaults.
        if options.config == nil, lstat(path, &status) != 0, errno == ENOENT { return nil }
        guard access(path, R_OK) == 0, stat(path, &status) == 0 else { throw refuse(SystemError().reason) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw refuse("it is a directory") }
        return path
    }

    /// The library looks keys up and does not list them. A section without anything in it counts for nothing.
    private static func keys(of node: Node, below prefix: String = "") -> [String] {
        guard let mapping = node.mapping else { return node.string == "" ? [] : [prefix] }
        return mapping.flatMap { key, value in
            keys(of: value, below: prefix.isEmpty ? key.string ?? "" : "\(prefix).\(key.string ?? "")")
        }
    }
}
