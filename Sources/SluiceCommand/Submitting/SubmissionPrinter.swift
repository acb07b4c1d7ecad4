internal import Commands
internal import Console
internal import Host
internal import Queue

/// Submits drafts that have been checked, and prints each UUID once it is durable. A command that existed
/// already is marked in the JSON, and otherwise named on standard error.
struct SubmissionPrinter {
    let client: SluiceClient
    let asJSON: Bool
    /// Prints nothing about new commands, because their results will be printed.
    var isQuiet = false
    /// The key of the labels in JSON: `file`; nil for labels that the caller knows.
    var labelName: String?
    /// Called with the index of each draft that has made no command: it was refused, or came after a refusal,
    /// or a command with its unique key existed.
    var unused: @Sendable (Int) -> Void = { _ in }

    private static let batch = 512

    /// Bytes of the line about a command: in JSON beside the label.
    static let lineBytes = 100

    /// - Parameter labels: names of the drafts for errors, and for JSON.
    /// - Throws: the first refusal. The UUIDs of accepted drafts have been printed then.
    func submit(_ drafts: [CommandDraft], labels: [String], allowUnknownTypes: Bool = false) async throws -> [CommandID]
    {
        try await submit(labels: labels, allowUnknownTypes: allowUnknownTypes) { Array(drafts[$0]) }
    }

    /// As ``submit(_:labels:allowUnknownTypes:)``.
    /// - Parameter drafts: called with a range of indices right before these drafts are submitted.
    func submit(
        labels: [String], allowUnknownTypes: Bool = false, _ drafts: (_ indices: Range<Int>) throws -> [CommandDraft]
    ) async throws -> [CommandID] {
        var ids: [CommandID] = []
        let count = labels.count
        var progress = BulkProgress(now: .now)
        defer { Diagnostics.clearStatus() }
        for start in stride(from: 0, to: count, by: Self.batch) {
            let end = min(start + Self.batch, count)
            try Output.require(
                bytes: labels[start..<end].reduce(0) { $0 + Self.lineBytes + (asJSON ? $1.utf8.count : 0) })
            let results = await client.submitOrFind(bulk: try drafts(start..<end), allowUnknownTypes: allowUnknownTypes)
            var refusal: (any Error)?
            for (index, result) in results.enumerated() {
                switch result {
                case .success(let submission):
                    ids.append(submission.id)
                    show(submission, label: labels[start + index])
                    if submission.isExisting { unused(start + index) }
                case .failure(let error):
                    unused(start + index)
                    if refusal == nil { refusal = refused(error, label: labels[start + index], count: count) }
                }
            }
            Output.flush()
            // A terminal that shows the UUIDs themselves needs no number.
            if !Output.isTerminal, let text = progress.add(results.count, now: .now) {
                Diagnostics.showStatus { _ in text }
            }
            if let refusal {
                for index in end..<count { unused(index) }
                throw refusal
            }
        }
        return ids
    }

    private func show(_ submission: Submission, label: String) {
        if isQuiet { return }
        let id = submission.id.description
        guard asJSON else {
            Output.line(id)
            if submission.isExisting { Diagnostics.say("existing: \(id)") }
            return
        }
        let named = labelName.map { [JSONValue.Member($0, .string(label))] } ?? []
        Output.line(
            JSONValue.object([.init("id", .string(id)), .init("existing", .bool(submission.isExisting))] + named).bytes)
    }

    private func refused(_ error: SluiceError, label: String, count: Int) -> any Error {
        guard count > 1 else { return error }
        var error = error
        error.message = "\(label): \(error.message)"
        return error
    }
}
