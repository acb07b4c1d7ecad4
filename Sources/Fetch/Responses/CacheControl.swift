internal import HTTPClient
internal import Transfers

/// The directives of `Cache-Control` that the cache obeys (RFC 9111, section 5.2; RFC 5861; RFC 8246).
///
/// A directive that restricts counts with any argument: `no-cache="set-cookie"` is taken as `no-cache`, and
/// `private="x"` as `private`, which the RFC permits. A directive that permits counts only without one. Of
/// two values of one directive the first counts (section 4.2.1).
struct CacheControl: Sendable, Equatable {
    var maxAge: DeltaSeconds?
    /// `s-maxage`, for shared caches.
    var sharedMaxAge: DeltaSeconds?
    var staleWhileRevalidate: DeltaSeconds?
    var staleIfError: DeltaSeconds?
    var isNoStore = false
    var isNoCache = false
    var isPrivate = false
    var isPublic = false
    var isImmutable = false
    var mustRevalidate = false
    var proxyRevalidate = false
    var mustUnderstand = false
    /// A quoted string has no end, so the response is stale.
    var isMalformed = false

    /// - Parameter headers: of a request or a response. Each field is read on its own, so that an unclosed
    ///   quoted string does not hide the directives of the next one.
    init(_ headers: HeaderFields) {
        for value in headers.values("cache-control") {
            let (directives, isMalformed) = CacheDirective.all(in: value)
            for directive in directives { add(directive) }
            if isMalformed { self.isMalformed = true }
        }
    }

    private mutating func add(_ directive: CacheDirective) {
        let isBare = directive.argument == .none
        switch directive.name {
        case "max-age": maxAge = maxAge ?? directive.seconds
        case "s-maxage": sharedMaxAge = sharedMaxAge ?? directive.seconds
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? directive.seconds
        case "stale-if-error": staleIfError = staleIfError ?? directive.seconds
        case "no-store": isNoStore = true
        case "no-cache": isNoCache = true
        case "private": isPrivate = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "public": if isBare { isPublic = true }
        case "immutable": if isBare { isImmutable = true }
        case "must-understand": if isBare { mustUnderstand = true }
        default: break
        }
    }
}

/// One directive of a `Cache-Control` field: `token [ "=" ( token / quoted-string ) ]` (RFC 9111, section
/// 5.2).
struct CacheDirective: Sendable, Equatable {
    enum Argument: Sendable, Equatable {
        case none
        /// A token, or a quoted string without its quotes. Recipients accept both forms.
        case text(String)
        /// A space beside the equals sign, or text after a quoted string.
        case malformed
    }

    /// In lower case.
    var name: String
    var argument: Argument

    /// The directives of one field value.
    /// - Returns: also whether a quoted string has no end. Its text is then divided at commas as well, so
    ///   that a `no-store` in it counts.
    static func all(in value: String) -> (directives: [CacheDirective], isMalformed: Bool) {
        let bytes = Array(value.utf8)
        var parts: [ArraySlice<UInt8>] = []
        var (start, index, isQuoted) = (0, 0, false)
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\\") where isQuoted: index += 1
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted:
                parts.append(bytes[start..<index])
                start = index + 1
            default: break
            }
            index += 1
        }
        parts += isQuoted ? bytes[start...].split(separator: UInt8(ascii: ",")) : [bytes[start...]]
        return (parts.compactMap(CacheDirective.init), isQuoted)
    }

    private init?(_ bytes: ArraySlice<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self).trimmed
        guard !text.isEmpty else { return nil }
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            (name, argument) = (text.lowercased(), .none)
            return
        }
        let left = text[..<mark]
        name = left.trimmed.lowercased()
        let right = text[text.utf8.index(after: mark)...]
        let hasSpace = left.utf8.last.map(Self.isSpace) == true || right.utf8.first.map(Self.isSpace) == true
        argument = hasSpace ? .malformed : Self.argument(right.utf8)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func argument(_ bytes: Substring.UTF8View) -> Argument {
        guard bytes.first == UInt8(ascii: "\"") else { return .text(String(Substring(bytes))) }
        var text: [UInt8] = []
        var rest = bytes.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\\"): if let escaped = rest.popFirst() { text.append(escaped) }
            case UInt8(ascii: "\""): return rest.isEmpty ? .text(String(decoding: text, as: UTF8.self)) : .malformed
            default: text.append(byte)
            }
        }
        return .malformed
    }
}

extension CacheDirective {
    fileprivate var seconds: DeltaSeconds {
        if case .text(let text) = argument { DeltaSeconds(text) } else { .invalid }
    }
}

/// A number of seconds in a directive or in `Age` (RFC 9111, section 1.2.2).
enum DeltaSeconds: Sendable, Equatable {
    /// 0…``max``.
    case seconds(Int64)
    /// Present, and not a number.
    case invalid

    /// About 68 years. A greater number counts as this one (section 1.2.2).
    static let max: Int64 = 1 << 31

    /// Reads digits, also with zeros at the start. A sign, a fraction or a space makes it invalid.
    init(_ text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else {
            self = .invalid
            return
        }
        var value: Int64 = 0
        for byte in text.utf8 where value < Self.max { value = value * 10 + Int64(byte - UInt8(ascii: "0")) }
        self = .seconds(min(value, Self.max))
    }

    /// The time, and zero for an invalid one: a response with an invalid lifetime is stale (section 4.2.1).
    var duration: Duration { if case .seconds(let value) = self { .seconds(value) } else { .zero } }
}
