internal import Door
internal import HTTPTypes
internal import NIOCore

/// Makes the endpoints of pages.
struct PageRoute: Sendable {
    let services: PageServices

    typealias Show = @Sendable (Visit) async throws -> Response
    typealias Act = @Sendable (Visit, FormFields) async throws -> Response

    func page(_ path: String, scopes: Set<Scope> = [.read], _ show: @escaping Show) -> Endpoint {
        var endpoint = Endpoint(path, methods: [.get: get(scopes, show)])
        endpoint.isEssential = true
        return endpoint
    }

    /// An action: a POST of a form, whose answer is a redirect.
    func action(_ path: String, scopes: Set<Scope> = [.control], _ act: @escaping Act) -> Endpoint {
        var endpoint = Endpoint(path, methods: [.post: post(scopes, act)])
        endpoint.isEssential = true
        return endpoint
    }

    func get(_ scopes: Set<Scope>?, _ show: @escaping Show) -> Endpoint.Method {
        Endpoint.Method(scopes: scopes, present: present) { [services] in try await show(Visit($0, services)) }
    }

    func post(_ scopes: Set<Scope>?, _ act: @escaping Act) -> Endpoint.Method {
        Endpoint.Method(scopes: scopes, present: present) { [services] request in
            try await act(Visit(request, services), try await FormFields(reading: request))
        }
    }

    /// An error as a page. Without a session it is the way to the login.
    private var present: @Sendable (DoorRequest, Problem) -> Response {
        { [services] request, problem in
            let visit = Visit(request, services)
            if problem.status == .unauthorized, !request.fields.contains(.authorization) {
                return LoginPage.redirect(visit)
            }
            return ProblemPage(visit, problem).response
        }
    }
}

/// The fields of a form that a browser has sent.
struct FormFields: Sendable {
    private let query: DoorQuery

    private static let maxSize = 64 << 10
    /// Of a client without a token, as at the login: all connections together must leave memory to the others.
    private static let maxSizeOfStranger = 4 << 10

    /// - Throws: 415 for another content type, 413 for more than 64 KiB, or 4 KiB from a client without a token, 400 for
    ///   a body that is not a form.
    init(reading request: DoorRequest) async throws {
        let type = request.fields[.contentType] ?? ""
        guard type.prefix(while: { $0 != ";" }).lowercased() == "application/x-www-form-urlencoded" else {
            throw Problem(
                .unsupportedMediaType, "unsupported-media-type", "An action takes a form; use the button of its page.")
        }
        let limit = request.principal == nil ? Self.maxSizeOfStranger : Self.maxSize
        let body = try await request.collectBody(limit: limit)
        guard let text = String(validating: body.readableBytesView, as: UTF8.self) else {
            throw Problem(.badRequest, "invalid-form", "The form is not UTF-8; use the button of its page.")
        }
        query = try DoorQuery(parsing: text)
    }

    /// Nil for a field that is absent or empty.
    subscript(_ name: String) -> String? { query[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// The fields `f-…`, the filter of a list, without the prefix.
    var filter: DoorQuery {
        DoorQuery(query.items.filter { $0.name.hasPrefix("f-") }.map { (String($0.name.dropFirst(2)), $0.value) })
    }

    /// The values of a field that a form may have several times.
    func all(_ name: String) -> [String] { query.items.filter { $0.name == name }.map(\.value) }
}

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
            body: Response.Body(byteBuffer: ByteBuffer(string: html.document)))
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

/// An error for a person.
struct ProblemPage {
    let visit: Visit
    let problem: Problem

    init(_ visit: Visit, _ problem: Problem) {
        self.visit = visit
        self.problem = problem
    }

    var response: Response {
        let frame = PageFrame(visit, title: problem.title, section: nil, isLive: false)
        var response = PageFields.page(
            frame.html(
                tag(.section, .class("narrow")) {
                    tag(.h1) { problem.title }
                    tag(.p) { problem.detail }
                    tag(.p, .class("dim")) { "Status \(problem.status.code) · request \(visit.request.id)" }
                    tag(.p) {
                        // Without a session the overview leads to the login.
                        let isOverview = visit.mayRead || visit.principal == nil
                        tag(.a, .href(visit.url(isOverview ? .overview : visit.mayUpload ? .upload : .login))) {
                            isOverview ? "Overview" : visit.mayUpload ? "Upload" : "Log in"
                        }
                    }
                }), status: problem.status)
        response.headers.append(contentsOf: problem.fields)
        return response
    }
}
