internal import Commands
internal import Operations
internal import Sluice
internal import Work

/// Submits a command for each file: `put` and `s3 put`.
struct FileSubmission {
    let data: DataOptions
    let type: String
    let files: [String]
    /// The payloads, in the order of the files.
    let payloads: [JSONValue]
    /// Copies the files into the data directory first.
    let spools: Bool
    let draft: (JSONValue, OperationRegistry) throws -> CommandDraft

    /// Checks every file before it makes a store or copies a file, and submits the commands.
    /// - Parameter waits: returns when all have ended.
    /// - Throws: ``ExitError``; the first refusal, where one cannot be submitted.
    func run(asJSON: Bool, waits: Bool) async throws {
        let registry = BuiltInOperations.registry(submission: .init(umask: SluiceTool.inheritedUmask))
        let checking = spools ? SpooledSubmission.registry : registry
        let checked = try payloads.map { try draft($0, checking) }
        let client = try data.client(registry)
        let printer = SubmissionPrinter(client: client, asJSON: asJSON, labelName: "file")
        let ids: [CommandID]
        if spools {
            let submission = SpooledSubmission(client: client, type: type, files: files, payloads: payloads) {
                try draft($0, registry)
            }
            ids = try await submission.submit(checked, by: printer)
        } else {
            ids = try await printer.submit(checked, labels: files)
        }
        if waits { try await CompletionWaiter(client: client, ids: ids, totals: checked.map(\.total)).run() }
        await client.close()
    }
}
