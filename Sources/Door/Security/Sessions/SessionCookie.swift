package import HTTPTypes

/// The cookie of a session.
package struct SessionCookie: Sendable, Equatable {
    package let name: String
    private let path: String
    private let isSecure: Bool

    /// - Parameters:
    ///   - basePath: of the page, without a slash at the end; empty for the root.
    ///   - isSecure: browsers reach the door by https, perhaps through a proxy.
    ///   - suffix: letters, digits and “-” that tell the doors of one host apart: browsers send the cookies of a host
    ///     to all its ports.
    package init(basePath: String, isSecure: Bool, suffix: String = "") {
        path = basePath.isEmpty ? "/" : basePath
        self.isSecure = isSecure
        // Browsers refuse a cookie with __Host- below a path (RFC 6265bis, section 4.1.3).
        let prefix = !isSecure ? "" : basePath.isEmpty || basePath == "/" ? "__Host-" : "__Secure-"
        name = "\(prefix)sluice\(suffix.isEmpty ? "" : "-\(suffix)")"
    }

    /// The value of `Set-Cookie` that begins a session.
    package func setting(_ id: String) -> String { "\(name)=\(id)\(attributes)" }

    /// The value of `Set-Cookie` that removes the cookie.
    package var removal: String { "\(name)=\(attributes); Max-Age=0" }

    private var attributes: String { "; Path=\(path); HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")" }

    /// The ids of sessions that a request carries. A browser sends several where it has cookies of several paths.
    package func ids(in fields: HTTPFields) -> [String] {
        fields[values: .cookie].flatMap { $0.split(separator: ";") }.compactMap { pair in
            let trimmed = pair.drop { $0 == " " || $0 == "\t" }
            guard let equals = trimmed.utf8.firstIndex(of: UInt8(ascii: "=")),
                trimmed[..<equals].utf8.elementsEqual(name.utf8)
            else { return nil }
            let id = trimmed[equals...].dropFirst()
            return id.isEmpty || !id.utf8.allSatisfy(Base62.isDigit) ? nil : String(id)
        }
    }
}
