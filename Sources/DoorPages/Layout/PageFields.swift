internal import Door
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

extension HTTPField.Name {
    static let crossOriginOpenerPolicy = HTTPField.Name("Cross-Origin-Opener-Policy")!
}

/// The responses of pages and actions.
enum PageFields {
    /// Nothing inline, nothing from elsewhere, and no text that becomes markup in a script (Trusted Types).
    static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

    static func page(_ html: HTML, status: HTTPResponse.Status = .ok) -> Response {
        var response = Response(
            status: status, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html.document)))
        add(to: &response.headers)
        return response
    }

    /// Sends the browser to another page by GET.
    static func seeOther(_ url: PageURL) -> Response {
        var response = Response(status: .seeOther, headers: [.location: url.text])
        add(to: &response.headers)
        return response
    }

    private static func add(to fields: inout HTTPFields) {
        fields[.contentSecurityPolicy] = policy
        fields[.referrerPolicy] = "same-origin"
        fields[.crossOriginOpenerPolicy] = "same-origin"
        fields[.crossOriginResourcePolicy] = "same-origin"
        fields[.cacheControl] = "no-store"
    }
}
