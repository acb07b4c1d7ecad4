internal import Commands
internal import Door
internal import Operations
internal import Queue
internal import Uploads
internal import Webhook

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
        return try? await ConfigurationFile(data, directory).webhooks
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
