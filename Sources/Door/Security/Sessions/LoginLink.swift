internal import Commands
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Links that open a session in a browser once, so that no token is in a URL or is typed in.
package enum LoginLink {
    /// The path of the endpoint that makes links.
    package static let path = "/login-codes"

    /// - Parameter base: the URL of the door, without a slash at its end.
    package static func url(_ base: String, code: String) -> String { "\(base)/login?code=\(code)" }

    /// POST makes a link for the token of the request. A session makes none: it would outlive its log-out.
    static func endpoint(_ authenticator: Authenticator) -> Endpoint {
        Endpoint(
            path,
            methods: [
                .post: .init(scopes: Set(Scope.allCases)) { request in
                    guard let principal = request.principal, !principal.isSession else {
                        throw Problem(.forbidden, "no-token", "A login link needs a bearer token, not a session.")
                    }
                    let url = url(request.baseURL, code: authenticator.makeLoginCode(for: principal.token))
                    let body = JSONValue.object([.init("url", .string(url))]).bytes
                    return Response(
                        status: .created, headers: [.contentType: "application/json", .cacheControl: "no-store"],
                        body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
                }
            ])
    }
}
