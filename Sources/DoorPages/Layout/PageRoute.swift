internal import Door
internal import HTTPTypes
internal import Hummingbird
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
