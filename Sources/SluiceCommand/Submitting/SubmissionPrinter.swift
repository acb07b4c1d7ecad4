internal import Commands
internal import Sluice
internal import Store

/// Submits drafts that have been checked, and prints each UUID once it is durable. Of a command that existed
/// already the JSON says so, and otherwise standard error.
struct SubmissionPrinter {
    let client: SluiceClient
    let asJSON: Bool
    /// What the labels are, for JSON: `file`; nil where they say nothing that the caller does not know.
    var labelName: String?
    /// Called with the place of each draft that has made no command: it was refused, or not submitted any more after a
    /// refusal, or an equal one was there under its unique key.
    var unused: @Sendable (Int) -> Void = { _ in }

    private static let batch = 512

    /// - Parameter labels: what each draft is called where it is refused; printed with the UUID in JSON.
    /// - Throws: the first refusal; what was accepted before it has been printed.
    func submit(_ drafts: [CommandDraft], labels: [String], allowUnknownTypes: Bool = false) async throws -> [CommandID]
    {
        try await submit(labels: labels, allowUnknownTypes: allowUnknownTypes) { Array(drafts[$0]) }
    }

    /// As ``submit(_:labels:allowUnknownTypes:)``.
    /// - Parameter drafts: called for some at a time, right before they are submitted.
    func submit(
        labels: [String], allowUnknownTypes: Bool = false, _ drafts: (_ places: Range<Int>) throws -> [CommandDraft]
    ) async throws -> [CommandID] {
        var ids: [CommandID] = []
        let count = labels.count
        for start in stride(from: 0, to: count, by: Self.batch) {
            let end = min(start + Self.batch, count)
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
            if let refusal {
                for index in end..<count { unused(index) }
                throw refusal
            }
        }
        return ids
    }

    private func show(_ submission: Submission, label: String) {
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
