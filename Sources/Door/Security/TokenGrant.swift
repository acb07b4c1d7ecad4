package import Commands
package import Store

/// A token that another one makes over HTTP, to send uploads: for a browser or a device that must not have a lasting one.
///
/// It has the scope `upload` only, and makes no further tokens. It never has more routes or time than its maker, and ends with
/// it. Its uploads take the share of the maker, so that many grants do not multiply a share.
package struct TokenGrant: Sendable, Equatable {
    /// Unique among the usable ones of its maker; nil: its id. A later grant of the name owns the uploads of the earlier one.
    package var name: String?
    /// Nil: those of the maker.
    package var routes: Set<String>?
    /// Bytes that its uploads may have in the spool; nil: as many as those of the maker.
    package var maxBytes: Int64?
    /// Nil: after ``defaultLifetime``.
    package var expires: Timestamp?

    package static let defaultLifetime: Duration = .seconds(3600)
    package static let maxLifetime: Duration = .seconds(86_400)
    /// The usable grants that the tokens of one name may have.
    package static let maxCount = 2000

    package init() {}
}

/// Why a grant was not made.
package enum TokenGrantError: Error, Equatable {
    /// The maker was revoked, has expired, or lacks a scope.
    case makerEnded
    /// The maker does not have the routes.
    case routes
    /// A usable grant of the maker has the name.
    case nameTaken
    /// The maker has ``TokenGrant/maxCount`` usable ones.
    case tooMany
    case store(StoreError)
}

extension TokenStore {
    /// Makes a token for uploads. One call at a time, because two could take one name. Blocks.
    /// - Parameters:
    ///   - id: of the token that makes it, which has the scopes `grant` and `upload`.
    ///   - token: the new one.
    package func grant(
        _ grant: TokenGrant, by id: String, _ token: AccessToken, now: Timestamp
    ) throws(TokenGrantError) -> TokenRecord {
        let maker: TokenRecord
        let own: [TokenRecord]
        do throws(StoreError) {
            let known = try tokens().records
            guard let found = known.first(where: { $0.id == id }) else { throw StoreError(.notFound, "no token \(id)") }
            maker = found
            own = known.filter { $0.maker?.owner == found.owner && $0.state(at: now) == .usable }
        } catch {
            throw error.code == .notFound ? .makerEnded : .store(error)
        }
        guard maker.state(at: now) == .usable, maker.maker == nil, maker.scopes.isSuperset(of: [.grant, .upload]) else {
            throw .makerEnded
        }
        if let permitted = maker.routes, !(grant.routes ?? permitted).isSubset(of: permitted) { throw .routes }
        let name = grant.name ?? token.id
        guard !own.contains(where: { $0.name == name }) else { throw .nameTaken }
        guard own.count < TokenGrant.maxCount else { throw .tooMany }
        var record = TokenRecord(token, name: name, scopes: [.upload], created: now)
        record.maker = TokenRecord.Maker(owner: maker.owner, name: maker.name)
        record.routes = grant.routes ?? maker.routes
        record.maxBytes = grant.maxBytes
        let wanted = grant.expires ?? now + TokenGrant.defaultLifetime
        record.expires = [wanted, now + TokenGrant.maxLifetime, maker.expires].compactMap(\.self).min()
        do throws(StoreError) { try add(record, now: now) } catch {
            throw error.code == .invalid ? .tooMany : .store(error)
        }
        return record
    }

    /// The tokens that those of a name have made, the newest first. Blocks.
    /// - Parameter owner: ``TokenRecord/owner`` of the maker.
    package func grants(of owner: String) throws(StoreError) -> [TokenRecord] {
        try tokens().records.filter { $0.maker?.owner == owner }.reversed()
    }
}
