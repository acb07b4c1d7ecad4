internal import BuiltIn
internal import Commands
internal import Door
internal import Exec
internal import FlowText
internal import Glibc
internal import HTTPClient
internal import Host
internal import NetworkControl
internal import Settings
internal import Transfers
internal import Webhook

/// The configuration: `sluice.yaml` in the data directory, which may be missing, or the file of `--config`,
/// which may not. Environment variables win over it: `network.level.poor.utility` is
/// `SLUICE_NETWORK_LEVEL_POOR_UTILITY`, `upload.idleTimeout` is `SLUICE_UPLOAD_IDLE_TIMEOUT`; lists are
/// separated by commas.
struct ConfigurationFile {
    private let operations: OperationsConfiguration
    let network: NetworkPolicy
    let door: DoorConfiguration
    /// Has read every key; finds the positions of later errors.
    private let reader: SettingsReader

    /// Reads every key in every process, so that none starts with a configuration that another refuses.
    ///
    /// - Throws: ``ExitError`` `configuration` for a file that cannot be used, and for an unknown key.
    init(_ options: DataOptions, _ directory: DataDirectory) throws {
        let path = try Self.path(options, directory)
        let variables = Self.variables
        var reader = SettingsReader(
            try path.flatMap { try Self.tree($0) }, file: path ?? directory.configuration, variables: variables,
            // ``ConfiguredStore``, ``ConfiguredSchedules`` and ``ConfiguredRoutes`` read them.
            without: [ConfiguredStore.key, Self.schedulesKey, UploadRoutes.key])
        do throws(SettingsError) {
            var operations = try OperationsConfiguration(reading: &reader)
            network = try NetworkPolicy(reading: &reader)
            door = try DoorConfiguration(reading: &reader)
            operations.http.confinement = door.submit.confinement
            self.operations = operations
            try reader.refuseUnknown()
            try reader.refuseUnknown(
                variables: variables.keys.filter { !operations.secretVariables.contains($0) },
                of: [
                    "network", "destination", "upload", "credential", "cache", "collections", "webhook", "exec",
                    "program", "door",
                ], others: Self.otherVariables)
        } catch {
            throw ExitError(.configuration, "\(reader.locating(error))")
        }
        self.reader = reader
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
            throw ExitError(.configuration, "\(reader.locating(error))")
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

    /// Reads the file.
    /// - Parameter key: a text without which the file is not parsed, because it cannot have that key; nil: parses any.
    /// - Returns: nil for a file with only comments, and for one without the text `key`.
    /// - Throws: ``ExitError`` `configuration` for a file that cannot be read, and as ``parse(_:_:)``.
    static func tree(_ path: String, with key: String? = nil) throws(ExitError) -> LocatedValue? {
        var text: [UInt8] = []
        do throws(SystemError) { try SmallFile.visit(path) { text += $0 } } catch {
            throw unreadable(path, error.reason)
        }
        guard key.map({ text.contains($0.utf8) }) ?? true else { return nil }
        return try parse(text, path)
    }

    /// Parses the text of a file.
    /// - Returns: nil for a text with only comments.
    /// - Throws: ``ExitError`` `configuration` with line and column for a text that is not a mapping in YAML.
    static func parse(_ text: [UInt8], _ path: String) throws(ExitError) -> LocatedValue? {
        func refuse(_ position: SourcePosition?, _ problem: some StringProtocol) -> ExitError {
            let place = position.map { "line \($0.line), column \($0.column): " } ?? ""
            return ExitError(.configuration, "the configuration “\(path)” is not valid YAML: \(place)\(problem)")
        }
        let tree: LocatedValue?
        do throws(SourceError) { tree = try YAMLText.parseConfiguration(text) } catch {
            throw refuse(error.position, error.problem.trimmingPrefix("the text is not valid YAML: "))
        }
        if let tree, tree.members == nil {
            throw refuse(tree.position, "the file must be a mapping of keys, not \(tree.value.kind)")
        }
        return tree
    }

    private static func unreadable(_ path: String, _ reason: String) -> ExitError {
        ExitError(.configuration, "cannot read the configuration “\(path)”: \(reason)")
    }

    /// The variables of the environment. Of two with one name the first counts, as for `getenv`.
    private static var variables: [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            if let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")), variables[String(text[..<mark])] == nil {
                variables[String(text[..<mark])] = String(Substring(text.utf8[mark...].dropFirst()))
            }
            next += 1
        }
        return variables
    }

    /// The file; nil where there is none.
    static func path(_ options: DataOptions, _ directory: DataDirectory) throws -> String? {
        let path = options.config ?? directory.configuration
        var status = stat()
        // A symbolic link to a missing or unreadable file does not mean the defaults.
        if options.config == nil, lstat(path, &status) != 0, errno == ENOENT { return nil }
        guard access(path, R_OK) == 0, stat(path, &status) == 0 else { throw unreadable(path, SystemError().reason) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw unreadable(path, "it is a directory") }
        return path
    }
}
