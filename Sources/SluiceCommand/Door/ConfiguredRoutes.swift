internal import Commands
internal import Door
internal import FlowText
internal import Glibc
internal import Host
internal import Operations
internal import Queue
internal import Uploads
internal import Webhook

/// The routes of `sluice.yaml`.
enum ConfiguredRoutes {
    /// Those of the configuration; none where there is no file.
    /// - Throws: ``ExitError`` `configuration` with file and line.
    static func read(_ data: DataOptions) throws -> UploadRoutes {
        guard let path = try ConfigurationFile.path(data, data.directory()) else { return UploadRoutes() }
        return try read(path, ConfigurationFile.tree(path, with: UploadRoutes.key))
    }

    /// - Parameters:
    ///   - path: for errors.
    ///   - tree: the whole file; nil where it has no value.
    static func read(_ path: String, _ tree: LocatedValue?) throws -> UploadRoutes {
        guard let tree else { return UploadRoutes() }
        do throws(RouteError) { return try UploadRoutes(reading: tree) } catch {
            throw ExitError(.configuration, "\(path):\(error.position.map { "\($0.line):" } ?? "") \(error.problem)")
        }
    }
}

/// Finds routes that no upload could take, before the first upload.
struct RouteCheck {
    let registry: @Sendable (String) throws -> OperationRegistry
    /// The types that workers run; nil: any.
    let types: Set<String>?
    /// The receivers of webhooks in the configuration; nil where it is not known, and they are not looked at.
    let webhooks: WebhookEndpoints?

    /// The types of the store, where there is one.
    static func knownTypes(_ data: DataOptions) -> Set<String> {
        guard let queue = try? data.queue(), let types = try? queue.types() else { return CommandType.builtIn }
        return types
    }

    /// The receivers of webhooks in the configuration; nil where there is none, or where it cannot be used.
    static func webhooks(_ data: DataOptions) async -> WebhookEndpoints? {
        let directory = data.directory()
        guard (try? ConfigurationFile.path(data, directory)) != nil else { return nil }
        return try? ConfigurationFile(data, directory).webhooks
    }

    /// The command or flow that an upload would become.
    /// - Throws: ``ExitError`` `configuration`.
    func result(of route: UploadRoute, _ facts: RouteFacts) throws(ExitError) -> RouteResult {
        if let types, let unknown = route.types.first(where: { !types.contains($0) }) {
            throw ExitError(
                .configuration,
                "The route “\(route.name)”: no worker runs “\(unknown)”; known types are "
                    + types.sorted().joined(separator: ", "))
        }
        let result: RouteResult
        do throws(UploadError) { result = try route.result(of: facts, registry: registry) } catch {
            // The message is for clients, and names nothing of this machine.
            throw ExitError(.configuration, error.cause ?? error.message)
        }
        for draft in result.drafts where draft.type == CommandType.webhook {
            guard let objection = webhooks?.objection(to: draft.payload) else { continue }
            throw ExitError(.configuration, "The route “\(route.name)”: \(objection)")
        }
        return result
    }

    /// A sentence for each route that does not take a sample. A route that takes only some uploads may refuse it too.
    func problems(of routes: [UploadRoute]) throws(ExitError) -> [String] {
        guard !routes.isEmpty else { return [] }
        let sample = try SampleFile()
        defer { sample.remove() }
        var problems: [String] = []
        for route in routes {
            let facts = route.sample(file: sample.path, name: "sample.bin", contentType: nil, metadata: [:])
            do throws(ExitError) { _ = try result(of: route, facts) } catch { problems.append("\(error)") }
        }
        return problems
    }
}

/// An empty file that operations can look at.
struct SampleFile {
    let path: String

    init() throws(ExitError) {
        var template = Array(
            "\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/sluice-route.XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            throw ExitError(.cannotCreate, "cannot create a sample file: \(SystemError().reason)")
        }
        close(descriptor)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() { unlink(path) }
}
