internal import Commands
internal import Console
internal import HTTPClient
internal import Queue

/// Prints the result of a command that has succeeded.
struct ResultPrinter {
    let asJSON: Bool

    func show(_ outcome: CommandOutcome) {
        let result = outcome.result.map { HTTPHeaderRedaction.shown(result: JSONValue(stored: $0)) } ?? .null
        if asJSON {
            let members: [JSONValue.Member] = [
                .init("id", .string(outcome.id.description)), .init("status", .string(outcome.status.name)),
                .init("result", result),
            ]
            Output.line(JSONValue.object(members).bytes)
        } else if let text = result["body"]?.string {
            show(text, isBase64: result["bodyEncoding"]?.string == "base64")
            if result["bodyTruncated"]?.bool == true {
                Diagnostics.say("the answer is longer than 64 KiB: this is its start")
            }
            if let status = result["status"]?.integer, (300..<400).contains(status) {
                Output.flush()
                Diagnostics.say("\(status): Location: \(result["headers"]?["location"]?.string ?? "none")")
            }
        }
        Output.flush()
    }

    /// The bytes of a body as they came; a text ends in a line break in a terminal.
    private func show(_ text: String, isBase64: Bool) {
        let bytes = isBase64 ? Base64.decode(text.utf8) ?? [] : Array(text.utf8)
        Output.append { $0 += bytes }
        if Output.isTerminal, bytes.last != UInt8(ascii: "\n") { Output.line("") }
    }
}
