internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
internal import Queue

extension API {
    /// The upload tokens that a token has made.
    var tokenEndpoints: [Endpoint] {
        [
            endpoint("/tokens", (.get, [.grant], listTokens), (.post, [.grant], makeToken)),
            endpoint("/tokens/{name}", (.get, [.grant], showToken), (.delete, [.grant], revokeToken)),
        ]
    }

    @Sendable private func listTokens(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let now = client.now
        let tokens = try await grants(request).map { JSONValue.object($0.members(now: now)) }
        return JSONReply.response(["tokens": .array(tokens)])
    }

    @Sendable private func showToken(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        return JSONReply.response(.object(try await grant(request).members(now: client.now)))
    }

    @Sendable private func makeToken(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let members = try await JSONBody.members(request, ["name", "routes", "maxBytes", "expires"])
        guard let principal = request.principal else { throw Problem.failed }
        let now = client.now
        let grant = try grant(members, principal, now: now)
        let token = AccessToken()
        let record: TokenRecord
        do throws(TokenGrantError) {
            record = try await grantThread.run { [queue = client.access] () throws(TokenGrantError) in
                try TokenStore(queue).grant(grant, by: principal.token, token, now: now)
            }
        } catch {
            throw problem(error, grant, principal)
        }
        log("Made the token \(record.fullName) (\(record.id))", request)
        return JSONReply.response(
            .object([.init("token", .string(token.text))] + record.members(now: now)), status: .created,
            fields: [
                .location: "\(request.baseURL)\(Self.root)/tokens/\(record.name)", .cacheControl: "no-store",
            ])
    }

    /// A revoked one stays as it is.
    @Sendable private func revokeToken(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let record = try await grant(request)
        if record.revoked == nil {
            _ = try await write { queue in try TokenStore(queue).revoke(record.id, now: queue.now) }
            log("Revoked the token \(record.fullName) (\(record.id))", request)
        }
        return Response(status: .noContent)
    }

    // MARK: Reading

    private func grants(_ request: DoorRequest) async throws(Problem) -> [TokenRecord] {
        guard let owner = request.principal?.owner else { throw Problem.failed }
        return try await read { queue in try TokenStore(queue).grants(of: owner) }
    }

    /// The usable token of the name in the path, else the newest.
    private func grant(_ request: DoorRequest) async throws(Problem) -> TokenRecord {
        let name = request.parameters["name"] ?? ""
        let named = try await grants(request).filter { $0.name == name }
        guard let record = named.first(where: { $0.state(at: client.now) == .usable }) ?? named.first else {
            throw Problem(
                .notFound, "token-not-found",
                "This token has made none of the name “\(name.excerpt)”, or it has ended an hour ago; see /tokens.")
        }
        return record
    }

    private func grant(
        _ members: JSONValue, _ principal: Principal, now: Timestamp
    ) throws(Problem) -> TokenGrant {
        var grant = TokenGrant()
        if let name = Self.present(members["name"]) {
            guard let name = name.string, TokenRecord.isName(name), name != MachineToken.name else {
                throw JSONBody.problem("“name” is the name of a token: \(TokenRecord.nameForm).")
            }
            grant.name = name
        }
        if let routes = Self.present(members["routes"]) {
            guard let elements = routes.elements, !elements.isEmpty else {
                throw JSONBody.problem("“routes” is a list of names; leave it out for those of this token.")
            }
            let known = door.routes.names(for: principal)
            grant.routes = try Set(elements.map { (element) throws(Problem) in try route(element, known) })
        }
        if let bytes = Self.present(members["maxBytes"]) {
            guard let bytes = bytes.integer, bytes > 0 else {
                throw JSONBody.problem("“maxBytes” is a number of bytes from 1 on.")
            }
            grant.maxBytes = bytes
        }
        if let expires = Self.present(members["expires"]) {
            guard let time = expires.string.flatMap({ Timestamp(text: $0, now: now) }), time > now,
                time <= now + TokenGrant.maxLifetime
            else {
                throw JSONBody.problem("“expires” is a time from now, such as 30m, or RFC 3339, of one day at most.")
            }
            grant.expires = time
        }
        return grant
    }

    private static func present(_ value: JSONValue?) -> JSONValue? { value == .null ? nil : value }

    private func route(_ element: JSONValue, _ known: [String]) throws(Problem) -> String {
        guard let name = element.string, known.contains(name) else {
            throw Problem(
                .badRequest, "invalid-route",
                "This token may not use a route “\((element.string ?? element.text).excerpt)”; "
                    + (known.isEmpty ? "it has none." : "it has \(known.joined(separator: ", "))."),
                members: [.init("routes", .array(known.map { .string($0) }))])
        }
        return name
    }

    private func problem(_ error: TokenGrantError, _ grant: TokenGrant, _ principal: Principal) -> Problem {
        switch error {
        case .makerEnded:
            Problem(
                .forbidden, "scope-missing",
                "The token lacks the scope upload: a token gives no right that it does not have.",
                members: [.init("scopes", ["upload"])])
        case .routes:
            Problem(.badRequest, "invalid-route", "This token may not use one of the routes.")
        case .nameTaken:
            Problem(
                .conflict, "token-exists",
                "This token has made a usable one with the name “\((grant.name ?? "").excerpt)”; revoke it, or choose "
                    + "another name.")
        case .tooMany:
            Problem(
                .tooManyRequests, "too-many-tokens",
                "“\(principal.name)” has made \(TokenGrant.maxCount) usable tokens, or the store has its maximum; revoke "
                    + "some, or wait until they expire.", fields: [.retryAfter: "60"])
        case .store(let error): problem(error)
        }
    }
}
