internal import Commands
internal import HTTPClient
internal import Host
internal import Transfers

/// The stored form of a run that has ended, with success or not:
///
/// ```
/// {"exit": 0, "signal": null, "timedOut": false, "ms": 12, "userMs": 3, "systemMs": 4, "maxRSS": 4096000,
///  "stdout": "done\n", "stdoutBytes": 5, "stdoutTruncated": false, "stderr": …, "survivors": 0, "values": {}}
/// ```
///
/// An output is text where it is UTF-8 without control characters, otherwise base64 with
/// `"stdoutEncoding": "base64"`; one that went to a file has `stdoutFile` and `stdoutBytes`. `reports` counts
/// the part of the report channel that had no effect, where there is one. Its size is bounded by the limits
/// of the outputs (``ExecOutputRule/maxLimit``) and of the values (``ReportReader/limit``).
struct ExecResult {
    let end: ProgramEnd
    let output: ExecOutput
    let payload: ExecPayload

    var json: [UInt8] {
        var members: [JSONValue.Member] = []
        if case .exited(let code) = end.outcome {
            members += [.init("exit", .integer(Int64(code))), .init("signal", .null)]
        } else if case .signalled(let signal) = end.outcome {
            members += [.init("exit", .null), .init("signal", .string(SignalName.of(signal)))]
        } else {
            members += [.init("exit", .null), .init("signal", .null)]
        }
        members += [
            .init("timedOut", .bool(end.stop == .timedOut || end.stop == .idle)),
            .init("ms", Self.milliseconds(end.duration)), .init("userMs", Self.milliseconds(end.userTime)),
            .init("systemMs", Self.milliseconds(end.systemTime)), .init("maxRSS", .integer(end.maxResident)),
        ]
        members += stream(output.output, "stdout")
        members += stream(output.error, "stderr")
        members.append(.init("survivors", .integer(Int64(end.survivors))))
        if end.reports != ReportCounts() {
            members.append(
                .init(
                    "reports",
                    .object([
                        .init("garbageLines", .integer(Int64(end.reports.garbageLines))),
                        .init("skippedBytes", .integer(end.reports.skippedBytes)),
                        .init("skippedValues", .integer(Int64(end.reports.skippedValues))),
                    ])))
        }
        members.append(.init("values", .object(values)))
        return JSONValue.object(members).bytes
    }

    private static func milliseconds(_ duration: Duration) -> JSONValue {
        .integer(duration.nanoseconds / 1_000_000)
    }

    /// The values of the payload, replaced by those that the program has reported.
    private var values: [JSONValue.Member] {
        let reported = output.report.values.map { value in
            JSONValue.Member(value.name, output.redaction.clean(value.value))
        }
        return payload.values.filter { value in !reported.contains { $0.name.hasSameBytes(as: value.name) } } + reported
    }

    private func stream(_ stream: ExecOutput.Stream, _ name: String) -> [JSONValue.Member] {
        if let file = stream.file {
            return [.init("\(name)File", .string(file.path)), .init("\(name)Bytes", .integer(file.size))]
        }
        let bytes = output.clean(stream.tail)
        let whole = stream.tail.isTruncated ? Self.withoutCutCharacters(bytes, stream.tail.keep) : bytes[...]
        let text = HTTPResult.text(of: whole)
        var members: [JSONValue.Member] = [.init(name, .string(text ?? Base64.encode(bytes)))]
        if text == nil { members.append(.init("\(name)Encoding", "base64")) }
        return members + [
            .init("\(name)Bytes", .integer(stream.tail.count)),
            .init("\(name)Truncated", .bool(stream.tail.isTruncated || !end.outputIsWhole)),
        ]
    }

    /// The bytes without a character of UTF-8 that was cut where the output was truncated.
    private static func withoutCutCharacters(_ bytes: [UInt8], _ keep: OutputTail.Keep) -> ArraySlice<UInt8> {
        switch keep {
        case .tail: return bytes.dropFirst(bytes.prefix(3).prefix { $0 & 0xC0 == 0x80 }.count)
        case .head: return bytes.dropLast(HTTPResult.cutCharacter(bytes.suffix(4)))
        }
    }
}

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
