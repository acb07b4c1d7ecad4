/// Links that open a session in a browser once, so that no token is in a URL or is typed in.
package enum LoginLink {
    /// - Parameter base: the URL of the door, without a slash at its end.
    package static func url(_ base: String, code: String) -> String { "\(base)/login?code=\(code)" }
}
