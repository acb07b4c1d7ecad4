internal import Commands
internal import Console
internal import HTTPClient
internal import Queue

/// Prints the result of a program that has succeeded: its outputs to the same descriptors, as far as they are
/// stored.
struct ExecResultPrinter {
    let asJSON: Bool

    func show(_ outcome: CommandOutcome) {
        let result = outcome.result.map { JSONValue(stored: $0) } ?? .null
        if asJSON {
            let members: [JSONValue.Member] = [
                .init("id", .string(outcome.id.description)), .init("status", .string(outcome.status.name)),
                .init("result", result),
            ]
            Output.line(JSONValue.object(members).bytes)
        } else {
            let (output, error) = (Self.bytes(result, "stdout"), Self.bytes(result, "stderr"))
            Output.append { $0 += output }
            if Output.isTerminal, let last = output.last, last != UInt8(ascii: "\n") { Output.line("") }
            Output.flush()
            if !error.isEmpty { Diagnostics.write(String(decoding: error, as: UTF8.self)) }
            for name in ["stdout", "stderr"] { Self.tellOfRest(result, name) }
        }
        Output.flush()
    }

    /// Prints the error output of a program that has failed, unless it is the one line that the reason has.
    static func showErrors(_ result: [UInt8]) {
        let result = JSONValue(stored: result)
        let error = bytes(result, "stderr")
        guard error.count(where: { $0 == UInt8(ascii: "\n") }) > 1 else { return }
        Diagnostics.write(String(decoding: error, as: UTF8.self))
        tellOfRest(result, "stderr")
    }

    private static func bytes(_ result: JSONValue, _ name: String) -> [UInt8] {
        guard let text = result[name]?.string else { return [] }
        return result["\(name)Encoding"]?.string == "base64" ? Base64.decode(text.utf8) ?? [] : Array(text.utf8)
    }

    private static func tellOfRest(_ result: JSONValue, _ name: String) {
        let count = result["\(name)Bytes"]?.integer ?? 0
        if let file = result["\(name)File"]?.string {
            Diagnostics.say("\(name): \(count) bytes in \(file)")
        } else if result["\(name)Truncated"]?.bool == true {
            Diagnostics.say("\(name) had \(count) bytes, of which a part is stored")
        }
    }
}
