internal import BuiltIn
internal import Commands
internal import FileOps
internal import Operations
internal import Queue

/// Submits a command for each file: `put` and `s3 put`.
struct FileSubmission {
    let data: DataOptions
    let type: String
    /// The arguments: files and folders.
    let files: [String]
    let folders: FolderOptions
    let fields: SubmitFields
    /// Whether the paths of the files of a folder can be appended to the target, or the server needs none.
    let takesFolders: Bool
    /// Copies the files into the data directory first.
    let spools: Bool
    /// Makes the payload of a file.
    let payload: (SourceSelection.Source) throws -> JSONValue

    /// Checks every file before it makes a store or copies a file, and submits the commands.
    /// - Parameter waits: returns when all have ended.
    /// - Throws: ``ExitError``; the first refusal, where one cannot be submitted.
    func run(asJSON: Bool, waits: Bool) async throws {
        let registry = BuiltInOperations.registry(submission: .init(umask: SluiceTool.inheritedUmask))
        let checking = spools ? SpooledSubmission.registry : registry
        var selection = try SourceSelection(files, folders)
        guard takesFolders || !selection.hasFolder else {
            throw ExitError(.usage, "with a folder, --to must end in a slash: the paths of its files are appended")
        }
        let checked = try selection.checking { try draft(try payload($0), $0, checking) }
        selection.sayOmissions()
        let payloads = try selection.sources.map(payload)
        try refuseCollision(of: payloads, selection.sources)
        if folders.dryRun {
            try dryRun(selection, checked).write(asJSON: asJSON)
            return
        }
        guard !checked.isEmpty else {
            Diagnostics.say("there is no file to send")
            return
        }
        let client = try data.client(registry)
        let printer = SubmissionPrinter(client: client, asJSON: asJSON, labelName: "file")
        let paths = selection.sources.map(\.path)
        let ids: [CommandID]
        if spools {
            let submission = SpooledSubmission(client: client, type: type, files: paths, payloads: payloads) {
                try CommandDraft(type: type, payload: $0, options: fields.options, registry: registry)
            }
            ids = try await submission.submit(checked, by: printer)
        } else {
            ids = try await printer.submit(checked, labels: paths)
        }
        if waits { try await CompletionWaiter(client: client, ids: ids, totals: checked.map(\.total)).run() }
        await client.close()
    }

    private func draft(
        _ payload: JSONValue, _ source: SourceSelection.Source, _ registry: OperationRegistry
    ) throws -> CommandDraft {
        var options = fields.options
        options.uniqueKey = options.uniqueKey.map { source.file?.uniqueKey($0) ?? $0 }
        return try CommandDraft(type: type, payload: payload, options: options, registry: registry)
    }

    private func refuseCollision(of payloads: [JSONValue], _ sources: [SourceSelection.Source]) throws {
        guard let (earlier, later, url) = try UploadTargets.collision(in: payloads, type) else { return }
        throw ExitError(
            .usage,
            "\(sources[earlier].path) and \(sources[later].path) would both be sent to \(url), and one would be lost; rename "
                + "one, or put it elsewhere")
    }

    private func dryRun(_ selection: SourceSelection, _ drafts: [CommandDraft]) throws -> DryRun {
        let files = try zip(selection.sources, drafts).map { source, draft in
            DryRun.File(
                path: source.path,
                target: try UploadTargets.target(of: try JSONValue(parsing: draft.payload), type), size: draft.total)
        }
        return DryRun(files: files, omitted: selection.omissions.count)
    }
}
