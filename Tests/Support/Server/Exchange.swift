internal import Crypto
internal import NIOCore

/// One request of a ``ServerConnection`` and its remaining steps.
struct Exchange {
    let head: RequestHead
    /// The index of the request in the ledger.
    let index: Int
    /// The number of the request, as its rule counts.
    let number: Int
    var steps: ArraySlice<ScriptStep>
    /// The number of bytes of the body that were read.
    var received = 0
    var hash: SHA256?
    /// The body so far, for a ``RequestHandler``; nil where there is none.
    var body: ByteBuffer?
    /// The path of the file that the body is written to.
    var file: String?
    /// Whether an interim or final response was sent.
    var hasSpoken = false
    /// Whether the final response was sent.
    var hasAnswered = false
    /// The time for which the connection is kept without a request after this one.
    var idle: Duration?

    init(_ head: RequestHead, index: Int, choice: Script.Choice, hashes: Bool) {
        self.head = head
        self.index = index
        number = choice.number
        steps = choice.steps[...]
        hash = hashes ? SHA256() : nil
        body = choice.steps.contains(.handle) ? ByteBuffer() : nil
    }

    var isWhole: Bool { received >= head.declared }

    mutating func take(_ bytes: ByteBuffer) {
        received += bytes.readableBytes
        body?.writeImmutableBuffer(bytes)
        if hash != nil { bytes.withUnsafeReadableBytes { hash?.update(bufferPointer: $0) } }
    }

    /// Replaces the known `{…}` in a text of the script.
    func replacing(_ text: String, origin: String) -> String {
        guard text.contains("{") else { return text }
        var result = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            result += rest[..<open]
            rest = rest[open...]
            let name = rest.dropFirst().prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
            guard !name.isEmpty, rest[name.endIndex...].first == "}" else {
                result.append(rest.removeFirst())
                continue
            }
            switch name {
            case "method": result += head.method
            case "target": result += head.target
            case "origin": result += origin
            case "number": result += "\(number)"
            default: result += head[name.lowercased()] ?? ""
            }
            rest = rest[name.endIndex...].dropFirst()
        }
        return result + rest
    }
}
