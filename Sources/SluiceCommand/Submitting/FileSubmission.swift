internal import BuiltIn
internal import Commands
internal import Console
internal import FileOps
internal import Host
internal import Operations
internal import Queue
internal import Synchronization

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
        let registry = BuiltInOperations.registry(submission: .init(umask: CommandLineRun.inheritedUmask))
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

/// Submits commands for private copies of their files: `--spool` of `put` and of `s3 put`.
struct SpooledSubmission {
    let client: SluiceClient
    let type: String
    let files: [String]
    /// The payloads, in the order of the files.
    let payloads: [JSONValue]
    /// Makes the draft of a payload that names a copy.
    let draft: (_ payload: JSONValue) throws -> CommandDraft

    /// The operations that check a file before it is copied. Its size may not be known yet.
    static var registry: OperationRegistry {
        BuiltInOperations.registry(submission: .init(umask: CommandLineRun.inheritedUmask, isSpooled: true))
    }

    /// Copies the files, and submits a command for each.
    /// - Parameter checked: the drafts of the files themselves. They identify the commands under their unique
    ///   keys, because each copy has another name.
    /// - Throws: the first refusal, after every copy without a command was deleted.
    func submit(_ checked: [CommandDraft], by printer: SubmissionPrinter) async throws -> [CommandID] {
        let spool = client.directory.spool
        do { try SpooledCopies.sweep(spool) } catch { Diagnostics.say(SluiceError(error).message) }
        let progress = Mutex(CopyProgress(files: checked.count, total: checked.map(\.total).clampedSum, now: .now))
        let copies = try SpooledCopies(in: spool, umask: CommandLineRun.inheritedUmask, type: type) { bytes, files in
            guard let shown = progress.withLock({ $0.add(bytes: bytes, files: files, now: .now) }) else { return }
            let label = "copying  "
            Diagnostics.showStatus { label + ProgressBar.line(shown, columns: $0 - label.count) }
        }
        let count = files.count
        SignalHandling.exits {
            guard let published = copies.abandon() else { return }
            Diagnostics.clearStatus()
            guard published < count else { return }
            let submitted = published == 0 ? "nothing was" : "\(published) of \(count) files were"
            Diagnostics.say("\(submitted) submitted; the other copies are deleted")
        }
        var printer = printer
        printer.unused = { copies.discard($0) }
        let ids: [CommandID]
        do {
            let taken = try copies.take(payloads)
            Diagnostics.clearStatus()
            ids = try await printer.submit(labels: files) { places in
                try copies.publish(places, taken) { payloads in
                    try zip(payloads, checked[places]).map { payload, original in
                        var copy = try draft(payload)
                        copy.identity = original.identity ?? original.payload
                        copy.uniqueKey = original.uniqueKey
                        return copy
                    }
                }
            }
        } catch {
            Diagnostics.clearStatus()
            // Where Ctrl-C has deleted the copies, the process ends by the signal, not with this error.
            if copies.abandon() == nil { await SignalHandling.letExit() }
            throw error
        }
        _ = copies.abandon()
        return ids
    }
}

/// The files that a put would submit, as `--dry-run` prints them.
struct DryRun {
    struct File {
        let path: String
        /// Nil where the server chooses it.
        let target: String?
        /// Bytes.
        let size: Int64
    }

    let files: [File]
    /// The number of entries that are left out.
    let omitted: Int

    /// A line for each file, then their number and sum.
    func write(asJSON: Bool) {
        let bytes = files.map(\.size).clampedSum
        for file in files {
            if asJSON {
                Output.line(
                    JSONValue.object([
                        .init("file", .string(file.path)), .init("to", file.target.map { .string($0) } ?? .null),
                        .init("size", .integer(file.size)),
                    ]).bytes)
            } else {
                let size = Figures.bytes(file.size)
                let space = String(repeating: " ", count: max(8 - size.utf8.count, 0))
                Output.line("\(space)\(size)  \(file.path)\(file.target.map { "  \($0)" } ?? "")")
            }
        }
        if asJSON {
            Output.line(
                JSONValue.object([
                    .init("files", .integer(Int64(files.count))), .init("bytes", .integer(bytes)),
                    .init("omitted", .integer(Int64(omitted))),
                ]).bytes)
        } else {
            let count = Figures.grouped(Int64(files.count))
            Output.line(
                "\(count) \(files.count == 1 ? "file" : "files"), \(Figures.bytes(bytes)); nothing was submitted")
        }
    }
}

extension Sequence<Int64> {
    /// The sum of sizes, at most `Int64.max`: two sparse files may have more bytes together.
    var clampedSum: Int64 {
        reduce(0) { sum, size in
            let (next, isOver) = sum.addingReportingOverflow(size)
            return isOver ? .max : next
        }
    }
}
