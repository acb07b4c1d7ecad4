package import Commands
internal import HTTPClient

/// Follows the redirects of one request (RFC 9110, section 15.4). Pure. Each request of a command has a
/// value of its own, which starts at the submitted URL.
///
/// | status | GET, HEAD | other methods |
/// |---|---|---|
/// | 301, 302, 303, 307, 308 | followed | not followed: a failure, which `HTTPVerdict` judges |
///
/// At another origin than the submitted one the secret header fields and the credential are left out, for
/// they were meant for that origin (curl: CVE-2018-1000007). They stay left out if a later redirect leads
/// back. Final are: a redirect from https to http, or to a URL of the chain, or beyond ``maxRedirects``.
package struct RedirectRules: Sendable {
    /// The maximum number of redirects that are followed.
    package static let maxRedirects = 5

    package private(set) var url: ResourceURL
    /// The method of the next request. A redirect of GET or HEAD does not change it.
    let method: String
    /// Whether the chain has left the origin of the submitted URL.
    private(set) var hasLeftOrigin = false
    private let maxRedirects: Int
    /// The URLs of the chain, in order.
    private var visited: [String]

    /// - Parameters:
    ///   - url: the submitted one.
    ///   - method: a token; the case counts.
    package init(_ url: ResourceURL, method: String, maxRedirects: Int = Self.maxRedirects) {
        self.url = url
        self.method = method
        self.maxRedirects = maxRedirects
        visited = [url.text]
    }

    /// Whether at least one redirect has been followed.
    package var hasRedirected: Bool { visited.count > 1 }

    /// Whether a header field of the payload goes to the current URL.
    package func sends(field name: String) -> Bool { !hasLeftOrigin || !HTTPHeaderRedaction.isSecret(name) }

    /// The destination whose credential in sluice.yaml applies to the current URL: only one that names
    /// exactly this origin.
    package var credentialDestination: Destination { url.destination }

    /// Decides what an answer from the current URL means, and moves on where it is a redirect to follow.
    /// - Parameter location: the field `Location`; nil without one.
    package mutating func step(status: Int, location: String?) -> RedirectStep {
        guard [301, 302, 303, 307, 308].contains(status), method == "GET" || method == "HEAD" else { return .none }
        guard let location, !location.trimmed.isEmpty else {
            return refused(status, nil, "without a Location; submit the URL that it should name")
        }
        guard location.utf8.count <= ResourceURL.maxBytes,
            let next = url.resolving(LocationField.encoded(location.trimmed)), next.scheme != .file
        else {
            return refused(status, location, "which is not a valid http or https URL")
        }
        if url.scheme == .https, next.scheme == .http {
            return refused(status, location, "which would leave TLS; submit that URL if it is right")
        }
        guard !visited.contains(next.text) else {
            return refused(status, location, "which was requested before: a loop")
        }
        guard visited.count <= maxRedirects else {
            return refused(status, location, "after \(maxRedirects) redirects, and no more are followed")
        }
        if next.destination != url.destination { hasLeftOrigin = true }
        visited.append(next.text)
        url = next
        return .follow(next, method: method)
    }

    private func refused(_ status: Int, _ location: String?, _ why: String) -> RedirectStep {
        let target = location.map { " to \(LocationField.shown($0))" } ?? ""
        return .refused(
            CommandFailure(
                .final, reason: "\(method) \(url.displayText) was answered \(status), a redirect\(target), \(why)"))
    }
}

/// The meaning of an answer for a chain of redirects.
package enum RedirectStep: Sendable, Equatable {
    /// The answer is not a redirect to follow; it is judged by its status.
    case none
    /// Send the request of this method to this URL. The address is checked anew.
    case follow(ResourceURL, method: String)
    /// The redirect must not be followed. The failure is final.
    case refused(CommandFailure)
}

/// `Location` of a redirect (RFC 9110, section 10.2.2).
package enum LocationField {
    private static let maxShownCharacters = 300

    /// Percent-encodes bytes that servers often leave as they are and a URL must not have: spaces, bytes
    /// beyond ASCII, and square brackets after the host.
    package static func encoded(_ reference: String) -> String {
        var text = ""
        let host = hostEnd(reference)
        for (index, byte) in reference.utf8.enumerated() {
            let isBracket = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")
            if byte <= 0x20 || byte >= 0x7F || "\"<>\\^`{|}".utf8.contains(byte) || isBracket && index >= host {
                text += PercentEncoding.encoded(byte)
            } else {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }

    /// The URL in a message: in one line, without its query, which often has a signature, and without a user
    /// and password.
    package static func shown(_ reference: String) -> String {
        var text = encoded(reference.trimmed)
        let mark = text.firstIndex { $0 == "?" || $0 == "#" } ?? text.endIndex
        text = String(text[..<mark])
        if let slashes = text.firstRange(of: "//") {
            let authority = text[slashes.upperBound...].prefix { $0 != "/" }
            if let at = authority.lastIndex(of: "@") { text.replaceSubrange(authority.startIndex..<at, with: "…") }
        }
        return text.count > maxShownCharacters ? text.prefix(maxShownCharacters) + "…" : text
    }

    /// The number of bytes up to the end of the host: 0 for a reference without one.
    private static func hostEnd(_ reference: String) -> Int {
        let bytes = Array(reference.utf8)
        let scheme = bytes.prefix { !"/?#".utf8.contains($0) }
        guard scheme.isEmpty || scheme.last == UInt8(ascii: ":"), bytes.dropFirst(scheme.count).starts(with: "//".utf8)
        else { return 0 }
        let start = scheme.count + 2
        return start + bytes.dropFirst(start).prefix { !"/?#".utf8.contains($0) }.count
    }
}
