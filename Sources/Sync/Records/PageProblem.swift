internal import Commands

/// Why the body of a page cannot be read. Then nothing of the whole sync is applied.
enum PageProblem: Error, Sendable, Equatable {
    /// The first character is `<`.
    case html(start: String)
    /// A prefix such as `)]}'`, which protects JSON from being run as a script.
    case prefixed
    /// - Parameter at: bytes from the start of the body, from 0.
    case malformed(at: Int, String)
    /// The body ended too early.
    /// - Parameter after: bytes.
    case cut(after: Int)
    /// - Parameter at: bytes from the start of the body, from 0.
    case trailing(at: Int)
    /// - Parameters:
    ///   - found: the kind of value that stands there instead.
    ///   - start: the start of the body, in one line.
    case noArray(JSONPointer, found: String?, start: String)

    var fault: CommandFailure.Fault {
        switch self {
        case .html, .noArray: .final
        case .prefixed, .malformed, .trailing: .command
        case .cut: .reset
        }
    }

    /// The failure of the command.
    /// - Parameter url: of the page, without secrets.
    func failure(of url: String) -> CommandFailure {
        var failure = CommandFailure(fault, reason: reason(url))
        failure.isAnswer = fault != .reset
        return failure
    }

    private func reason(_ url: String) -> String {
        switch self {
        case .html(let start):
            "\(url) answered with HTML instead of JSON, which begins “\(start)”; check “url” and the credential"
        case .prefixed:
            "\(url) answered with a prefix before the JSON, such as )]}', so it is not JSON; ask for another format"
        case .malformed(let at, let problem): "the answer of \(url) is not valid JSON: \(problem) at byte \(at + 1)"
        case .cut(let bytes): "the answer of \(url) ended after \(bytes) bytes, within the JSON"
        case .trailing(let at): "the answer of \(url) goes on after the end of the JSON, at byte \(at + 1)"
        case .noArray(let pointer, let found, let start):
            "no array at \(pointer) in the answer of \(url)\(found.map { ", but \($0)" } ?? ""); it begins “\(start)”; "
                + "correct “items” or “deletedItems”"
        }
    }

    /// The start of a body in a message: one line of at most 200 bytes, without control characters.
    static func printable(_ bytes: some Sequence<UInt8>) -> String {
        var line = ""
        for scalar in String(decoding: Array(bytes.prefix(200)), as: UTF8.self).unicodeScalars {
            line.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
        }
        return line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }
}
