/// The parts of a run that become its result.
struct ExecOutput {
    /// An output, as far as it is kept.
    struct Stream {
        var tail: OutputTail
        /// The file that has all of it, and its size.
        var file: (path: String, size: Int64)?
    }

    private(set) var output: Stream
    private(set) var error: Stream
    var report = ProgramReport()
    var hasStarted = false
    let redaction: OutputRedaction

    /// - Parameter secrets: replaced where an output repeats them.
    init(payload: ExecPayload, secrets: [String]) {
        output = Stream(tail: OutputTail(payload.output.keep, limit: payload.output.limit))
        error = Stream(tail: OutputTail(payload.error.keep, limit: payload.error.limit))
        redaction = OutputRedaction(secrets)
    }

    mutating func append(_ bytes: [UInt8], _ stream: ProgramEvent.Stream) {
        switch stream {
        case .output: output.tail.append(bytes)
        case .error: error.tail.append(bytes)
        }
    }

    /// Notes the files that got an output.
    mutating func setFiles(_ prepared: ExecPreparation.Prepared) {
        output.file = prepared.output.map { ($0.path, $0.size) }
        error.file = prepared.error.map { ($0.path, $0.size) }
    }

    /// The last line of the error output, without secrets; of the other one where that has none.
    var lastErrorLine: String? {
        OutputTail.lastLine(of: clean(error.tail)) ?? OutputTail.lastLine(of: clean(output.tail))
    }

    /// The bytes that stay of an output, without the secrets.
    func clean(_ tail: OutputTail) -> [UInt8] {
        redaction.clean(tail.bytes, kept: tail.isTruncated ? tail.keep : nil)
    }
}
