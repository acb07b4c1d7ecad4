internal import BuiltIn
internal import Configuration
internal import Door
internal import Exec
internal import Glibc
internal import HTTPClient
internal import Host
internal import NetworkControl
internal import Settings
internal import Transfers
internal import Webhook
internal import Yams

/// The configuration: `sluice.yaml` in the data directory, which may be missing, or the file of `--config`,
/// which may not. Environment variables win over it: `network.level.poor.utility` is
/// `SLUICE_NETWORK_LEVEL_POOR_UTILITY`, `upload.idleTimeout` is `SLUICE_UPLOAD_IDLE_TIMEOUT`; lists are
/// separated by commas.
struct ConfigurationFile {
    private let operations: OperationsConfiguration
    let network: NetworkPolicy
    let door: DoorConfiguration

    /// Reads every key in every process, so that none starts with a configuration that another refuses.
    ///
    /// - Throws: ``ExitError`` `configuration` for a file that cannot be used, and for an unknown key.
    init(_ options: DataOptions, _ directory: DataDirectory) async throws {
        let (configuration, keys, emptySections) = try await Self.open(options, directory)
        var reader = SettingsReader(configuration)
        do throws(SettingsError) {
            var operations = try OperationsConfiguration(reading: &reader)
            network = try NetworkPolicy(reading: &reader)
            door = try DoorConfiguration(reading: &reader)
            operations.http.confinement = door.submit.confinement
            self.operations = operations
            try reader.refuseUnknown(keys, emptySections: emptySections)
            try reader.refuseUnknown(
                variables: Self.variables.filter { !operations.secretVariables.contains($0) },
                of: [
                    "network", "destination", "upload", "credential", "cache", "collections", "webhook", "exec",
                    "program", "door",
                ], others: Self.otherVariables)
        } catch {
            throw ExitError(.configuration, "\(error)")
        }
    }

    /// The programs that `exec` runs.
    var programs: ExecConfiguration { operations.exec }

    /// The receivers of webhooks.
    var webhooks: WebhookEndpoints { operations.webhooks }

    /// The directory of the collections, where it is not in the data directory.
    var collectionsDirectory: String? { operations.collectionsDirectory }

    /// The configuration of operations, for workers.
    /// - Throws: ``ExitError`` `configuration` where a file that it names is missing.
    func uploads() throws -> OperationsConfiguration {
        do throws(SettingsError) { try operations.http.checkFiles() } catch {
            throw ExitError(.configuration, "\(error)")
        }
        var operations = operations
        operations.http.client.proxies = try proxies()
        return operations
    }

    /// The hook that is asked before an upload is created; nil: none is.
    /// - Throws: as ``uploads()``.
    func uploadHook() throws -> UploadHook? {
        let operations = try uploads()
        return door.uploadHook.flatMap { url in
            UploadHook(url, credential: operations.credentials[url.destination], client: operations.http.client)
        }
    }

    /// The requests that go through a proxy, by the configuration and the environment of this process.
    /// - Throws: ``ExitError`` `configuration` that names a variable that cannot be used.
    func proxies() throws -> ProxySettings {
        var http = operations.http
        do throws(SettingsError) {
            try http.readProxies { name in getenv(name).map { String(cString: $0) } }
        } catch {
            throw ExitError(.configuration, "\(error)")
        }
        return http.client.proxies
    }

    /// The key of the schedules.
    static let schedulesKey = "schedules"

    /// Variables of this program that are not keys of the file.
    private static let otherVariables = ["SLUICE_DATA", ConfiguredStore.variable, ConfiguredStore.directVariable]

    /// - Returns: the reader, the keys of the file, such as `network.maxTransfers`, and those of its first level without a
    ///   value.
    private static func open(
        _ options: DataOptions, _ directory: DataDirectory
    ) async throws -> (ConfigReader, keys: [String], emptySections: [String]) {
        let environment = EnvironmentVariablesProvider().prefixKeys(with: "sluice")
        guard let path = try path(options, directory) else { return (ConfigReader(provider: environment), [], []) }
        let place = ConfigReader(provider: InMemoryProvider(values: ["filePath": ConfigValue(stringLiteral: path)]))
        do {
            // The provider refuses a file with only comments.
            guard let root = try Yams.compose(yaml: SmallFile.read(path) ?? "") else {
                return (ConfigReader(provider: environment), [], [])
            }
            let known = withoutSections(root)
            guard known != root else {
                let file = try await FileProvider<YAMLSnapshot>(config: place)
                return (ConfigReader(providers: [environment, file]), keys(of: root), emptySections(of: root))
            }
            let file = InMemoryProvider(name: path, values: try values(of: known))
            return (ConfigReader(providers: [environment, file]), keys(of: known), emptySections(of: known))
        } catch {
            throw ExitError(.configuration, "the configuration “\(path)” is not valid YAML: \(error)")
        }
    }

    /// ``ConfiguredStore``, ``ConfiguredSchedules`` and ``ConfiguredRoutes`` read these sections, whose values are not plain
    /// settings.
    private static func withoutSections(_ root: Node) -> Node {
        guard var mapping = root.mapping else { return root }
        let sections = [ConfiguredStore.key, schedulesKey, UploadRoutes.key].filter { mapping[$0] != nil }
        guard !sections.isEmpty else { return root }
        for section in sections { mapping[Node(section)] = nil }
        return .mapping(mapping)
    }

    /// The settings as `YAMLSnapshot` reads them, which takes only a whole file.
    private static func values(
        of node: Node, below path: [String] = []
    ) throws(SettingsError) -> [AbsoluteConfigKey: ConfigValue] {
        func refuse(_ problem: String) -> SettingsError {
            SettingsError(key: path.isEmpty ? "the file" : path.joined(separator: "."), problem: problem)
        }
        switch node {
        case .mapping(let mapping):
            var all: [AbsoluteConfigKey: ConfigValue] = [:]
            for (key, value) in mapping {
                guard let name = key.string else { throw refuse("has a key that is not a text") }
                try all.merge(values(of: value, below: path + [name])) { first, _ in first }
            }
            return all
        case .sequence(let sequence):
            var texts: [String] = []
            for element in sequence {
                guard let text = element.scalar?.string else { throw refuse("takes a list of plain values") }
                texts.append(text)
            }
            return [AbsoluteConfigKey(path): ConfigValue(.stringArray(texts), isSecret: false)]
        case .scalar(let scalar):
            return [AbsoluteConfigKey(path): ConfigValue(.string(scalar.string), isSecret: false)]
        case .alias: throw refuse("has an alias that cannot be resolved")
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

    /// The file; nil where there is none.
    static func path(_ options: DataOptions, _ directory: DataDirectory) throws -> String? {
        let path = options.config ?? directory.configuration
        func refuse(_ reason: String) -> ExitError {
            ExitError(.configuration, "cannot read the configuration “\(path)”: \(reason)")
        }
        var status = stat()
        // A symbolic link to a missing or unreadable file does not mean the defaults.
        if options.config == nil, lstat(path, &status) != 0, errno == ENOENT { return nil }
        guard access(path, R_OK) == 0, stat(path, &status) == 0 else { throw refuse(SystemError().reason) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw refuse("it is a directory") }
        return path
    }

    private static func emptySections(of root: Node) -> [String] {
        root.mapping?.compactMap { key, value in
            value.string == "" || value.mapping?.isEmpty == true ? key.string : nil
        } ?? []
    }

    /// The keys of the file, which the configuration library does not list. An empty section has no key.
    private static func keys(of node: Node, below prefix: String = "") -> [String] {
        guard let mapping = node.mapping else { return node.string == "" ? [] : [prefix] }
        return mapping.flatMap { key, value in
            keys(of: value, below: prefix.isEmpty ? key.string ?? "" : "\(prefix).\(key.string ?? "")")
        }
    }
}
