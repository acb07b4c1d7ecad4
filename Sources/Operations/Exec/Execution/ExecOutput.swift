internal import HTTPClient

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
    private let secrets: [[UInt8]]

    /// Shorter values occur by chance.
    private static let minSecret = 5

    /// - Parameter secrets: replaced where an output repeats them.
    init(payload: ExecPayload, secrets: [String]) {
        output = Stream(tail: OutputTail(payload.output.keep, limit: payload.output.limit))
        error = Stream(tail: OutputTail(payload.error.keep, limit: payload.error.limit))
        self.secrets = secrets.map { Array($0.utf8) }.filter { $0.count >= Self.minSecret }
            .sorted { $0.count > $1.count }
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
        guard let line = error.tail.lastLine ?? output.tail.lastLine else { return nil }
        return String(decoding: clean(Array(line.utf8)), as: UTF8.self)
    }

    /// The bytes without the secrets.
    func clean(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for secret in secrets {
            while let range = bytes.firstRange(of: secret) {
                bytes.replaceSubrange(range, with: HTTPHeaderRedaction.replacement.utf8)
            }
        }
        return bytes
    }
}
