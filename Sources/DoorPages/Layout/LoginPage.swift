internal import Door
internal import HTTPTypes

/// The login: a token that a person types in, or the single-use code of a link.
///
/// A link is opened by GET, which only shows a button: programs that look at links in advance do not use the code up.
struct LoginPage: Sendable {
    let route: PageRoute

    var endpoints: [Endpoint] {
        var login = Endpoint(
            "/login", methods: [.get: route.get(nil) { Self.page($0) }, .post: route.post(nil, Self.logIn)])
        login.isEssential = true
        var logout = Endpoint("/logout", methods: [.post: route.post(nil, Self.logOut)])
        logout.isEssential = true
        return [login, logout]
    }

    /// Sends a browser without a session to the login, and later back.
    static func redirect(_ visit: Visit) -> Response {
        var link = PageLink.login
        if visit.request.method == .get, !visit.request.path.isEmpty { link.query = [("next", visit.ownPath)] }
        return PageFields.seeOther(visit.url(link))
    }

    private static func logIn(_ visit: Visit, _ form: FormFields) async throws -> Response {
        let authenticator = visit.services.context.authenticator
        let (fields, client) = (visit.request.fields, visit.request.client)
        let cookie: String
        do throws(Problem) {
            if let code = form["code"] {
                cookie = try await authenticator.logIn(code: code, fields: fields, client: client).cookie
            } else {
                let token = form["token"] ?? ""
                cookie = try await authenticator.logIn(token: token, fields: fields, client: client).cookie
            }
        } catch {
            return page(visit, error, next: form["next"])
        }
        let url = form["next"].flatMap(OwnPath.init).map { visit.url($0) } ?? visit.url(.overview)
        var response = PageFields.seeOther(url)
        response.headers[.setCookie] = cookie
        return response
    }

    private static func logOut(_ visit: Visit, _ form: FormFields) async -> Response {
        var response = PageFields.seeOther(visit.url(.login))
        response.headers[.setCookie] = await visit.services.context.authenticator.logOut(visit.request.fields)
        return response
    }

    private static func page(_ visit: Visit, _ problem: Problem? = nil, next: String? = nil) -> Response {
        let next = (next ?? visit.request.query["next"]).flatMap(OwnPath.init)
        let code = problem == nil ? visit.request.query["code"] : nil
        let content = tag(.section, .class("narrow login")) {
            tag(.h1) { "Log in" }
            if let problem { tag(.p, .class("notice bad"), .the(.role, "alert")) { problem.detail } }
            if let code { codeForm(visit, code, next) } else { tokenForm(visit, next) }
        }
        var response = PageFields.page(
            PageFrame(visit, title: "Log in", section: nil).html(content), status: problem?.status ?? .ok)
        if let problem { response.headers.append(contentsOf: problem.fields) }
        return response
    }

    private static func codeForm(_ visit: Visit, _ code: String, _ next: OwnPath?) -> HTML {
        tag(.form, .the(.method, "post"), .action(visit.url(.login))) {
            tag(.p) { "This link opens one session. It works once, within ten minutes." }
            tag(.input, .the(.type, "hidden"), .the(.name, "code"), .the(.value, code))
            if let next { tag(.input, .the(.type, "hidden"), .the(.name, "next"), .the(.value, next.text)) }
            tag(.button, .the(.type, "submit"), .class("primary"), .flag(.autofocus)) { "Open the session" }
        }
    }

    private static func tokenForm(_ visit: Visit, _ next: OwnPath?) -> HTML {
        tag(.form, .the(.method, "post"), .action(visit.url(.login))) {
            tag(.label, .the(.for, "token")) { "Access token" }
            tag(
                .input, .the(.type, "password"), .id("token"), .the(.name, "token"), .flag(.required),
                .flag(.autofocus),
                .the(.autocomplete, "current-password"), .the(.spellcheck, "false"), .the(.placeholder, "slu_…"))
            if let next { tag(.input, .the(.type, "hidden"), .the(.name, "next"), .the(.value, next.text)) }
            tag(.button, .the(.type, "submit"), .class("primary")) { "Log in" }
            tag(.p, .class("dim")) {
                "On the machine of the door, "
                tag(.code) { "sluice login" }
                " prints a link, and "
                tag(.code) { "sluice token create" }
                " makes a token."
            }
        }
    }
}
