internal import BuiltIn
internal import Commands
internal import FileOps
internal import Queue

/// Submits a command for each source: `get` and `s3 get`.
struct DownloadSubmission {
    let data: DataOptions
    let fields: SubmitFields
    /// The sources as they were given.
    let urls: [String]
    /// The payloads, in the order of the URLs.
    let payloads: [JSONValue]

    /// - Parameter waits: returns when all have ended.
    func run(asJSON: Bool, waits: Bool) async throws {
        let registry = BuiltInOperations.registry(submission: .init(umask: SluiceTool.inheritedUmask))
        let drafts = try payloads.map {
            try CommandDraft(type: CommandType.download, payload: $0, options: fields.options, registry: registry)
        }
        try refuseCollision(of: drafts)
        let client = try data.client(registry)
        let ids = try await SubmissionPrinter(client: client, asJSON: asJSON, labelName: "url")
            .submit(drafts, labels: urls)
        if waits { try await CompletionWaiter(client: client, ids: ids, totals: drafts.map(\.total)).run() }
        await client.close()
    }

    /// Two downloads into one file would replace each other.
    private func refuseCollision(of drafts: [CommandDraft]) throws {
        guard let (earlier, later, path) = DownloadTargets.collision(in: drafts.map(\.payload)) else { return }
        throw ExitError(
            .usage,
            "\(urls[earlier]) and \(urls[later]) would both become \(path), and one would be lost; get one of them to "
                + "another place")
    }
}
