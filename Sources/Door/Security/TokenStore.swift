package import Commands
package import Queue
package import Store

/// The access tokens of a store: one setting each. All calls block.
package struct TokenStore: Sendable {
    private let settings: any SettingStore

    package init(_ settings: any SettingStore) { self.settings = settings }

    package init(_ queue: QueueAccess) { self.init(queue.store) }

    /// How long the record of a token that can be used no more is kept.
    private static let retention: Duration = .seconds(30 * 86_400)
    /// The same of a grant: a site may make one for each of its visitors.
    private static let retentionOfGrant: Duration = .seconds(3600)
    /// The maximum number of tokens: each read of the door takes all of them.
    private static let maxCount = 10_000

    /// All tokens, the oldest first, and the ids of records that this release cannot read. A grant is as usable as its maker:
    /// it is revoked and expires with the last token of the maker's name, and outlives a rotation.
    package func tokens() throws(StoreError) -> (records: [TokenRecord], unreadable: [String]) {
        var records: [TokenRecord] = []
        var unreadable: [String] = []
        for (key, value) in try settings.settings(prefix: SettingKey.accessTokenPrefix) {
            let id = String(key.dropFirst(SettingKey.accessTokenPrefix.count))
            if let record = TokenRecord(id: id, setting: value) {
                records.append(record)
            } else {
                unreadable.append(id)
            }
        }
        records.sort { ($0.created, $0.id) < ($1.created, $1.id) }
        return (Self.endingGrants(of: records), unreadable.sorted())
    }

    /// The names of tokens, by their public ids; without those that were removed.
    package func names(of ids: Set<String>) throws(StoreError) -> [String: String] {
        var names: [String: String] = [:]
        for id in ids {
            let setting = try settings.setting(SettingKey.accessToken(id))
            names[id] = setting.flatMap { TokenRecord(id: id, setting: $0) }?.name
        }
        return names
    }

    private static func endingGrants(of records: [TokenRecord]) -> [TokenRecord] {
        guard records.contains(where: { $0.maker != nil }) else { return records }
        let makers = Dictionary(grouping: records.filter { $0.maker == nil }, by: \.owner)
        return records.map { record in
            guard let maker = record.maker, record.revoked == nil else { return record }
            var record = record
            let tokens = makers[maker.owner] ?? []
            let ends = tokens.filter { $0.revoked == nil }.map(\.expires)
            if ends.isEmpty {
                record.revoked = tokens.compactMap(\.revoked).max() ?? record.created
            } else if !ends.contains(nil) {
                record.expires = ([record.expires, ends.compactMap(\.self).max()].compactMap(\.self)).min()
            }
            return record
        }
    }

    /// Adds a token, which gets the owner of the tokens that had its name, and removes those that could not be used for a
    /// month, unless the wall clock is not trusted (``ClockHold``). The date on which a token expires is one of the wall clock always: a jump of the clock must not make an
    /// expired token usable.
    /// - Throws: `conflict` where a usable token has the name, `invalid` where there are 10,000.
    package func add(_ record: TokenRecord, now: Timestamp) throws(StoreError) {
        let known = try tokens().records
        if let other = known.first(where: { $0.hasName(of: record) && $0.state(at: now) == .usable }) {
            throw StoreError(
                .conflict,
                "There is a token “\(record.name)” already (\(other.id)); revoke it, or choose another name.")
        }
        // The grants of an earlier token of the name have ended with it, and the new one brings none of them back.
        let owners = Set(known.filter { $0.hasName(of: record) }.map(\.owner))
        let ended = known.filter { $0.maker.map { owners.contains($0.owner) } ?? false }.map { grant in
            var grant = grant
            grant.revoked = grant.revoked ?? now
            return grant
        }
        try insert(record, after: known, changing: ended, now: now)
    }

    /// Replaces a token by one of the same name, owner and rights.
    /// - Parameters:
    ///   - new: the token that takes its place.
    ///   - expires: nil: never.
    ///   - overlap: the time for which the old one stays usable beside it, unless it expires before.
    /// - Returns: the new token, and the old one as it is from now on.
    /// - Throws: `conflict` where the old one cannot be used any more.
    package func rotate(
        _ old: TokenRecord, to new: AccessToken, expires: Timestamp?, overlap: Duration, now: Timestamp
    ) throws(StoreError) -> (new: TokenRecord, old: TokenRecord) {
        let known = try tokens().records
        guard let old = known.first(where: { $0.id == old.id }), old.state(at: now) == .usable else {
            throw StoreError(
                .conflict, "The token “\(old.name)” (\(old.id)) cannot be used any more; make one with the same name.")
        }
        guard old.maker == nil else {
            throw StoreError(
                .conflict,
                "The token “\(old.fullName)” (\(old.id)) was made over HTTP: the holder of “\(old.maker?.name ?? "")” makes another "
                    + "one.")
        }
        var record = TokenRecord(new, name: old.name, scopes: old.scopes, created: now)
        (record.routes, record.types, record.destinations) = (old.routes, old.types, old.destinations)
        record.expires = expires
        // The new one comes first: if this process ends between the two, the client has two tokens, and not none.
        try insert(record, after: known, now: now)
        let ended = try change(old.id, timeout: WriteTimeout.foreground) { old in
            if overlap > .zero {
                old.expires = [old.expires, now + overlap].compactMap(\.self).min()
            } else if old.revoked == nil {
                old.revoked = now
            }
        }
        return (try tokens().records.first { $0.id == record.id } ?? record, ended ?? old)
    }

    /// - Parameter changed: records that the same write replaces.
    private func insert(
        _ record: TokenRecord, after known: [TokenRecord], changing changed: [TokenRecord] = [], now: Timestamp
    ) throws(StoreError) {
        var record = record
        record.owner = known.last { $0.hasName(of: record) }?.owner ?? record.owner
        let isHeld = settings.isClockHeld
        let old = known.filter { other in
            if isHeld { return false }
            guard let end = [other.revoked, other.expires].compactMap(\.self).min() else { return false }
            return end + (other.maker == nil ? Self.retention : Self.retentionOfGrant) < now
        }
        let removed = Set(old.map(\.id))
        guard known.count - old.count < Self.maxCount else {
            throw StoreError(
                .invalid, "The store has \(Self.maxCount) access tokens, the maximum; revoke tokens that are not used.")
        }
        try settings.set(
            [(SettingKey.accessToken(record.id), record.setting)] + old.map { (SettingKey.accessToken($0.id), nil) }
                + changed.filter { !removed.contains($0.id) }.map { (SettingKey.accessToken($0.id), $0.setting) },
            timeout: WriteTimeout.foreground)
    }

    /// Revokes a token. One that is revoked already stays as it is.
    /// - Returns: the token; nil where there is none with that id.
    package func revoke(_ id: String, now: Timestamp) throws(StoreError) -> TokenRecord? {
        try change(id, timeout: WriteTimeout.foreground) { record in
            if record.revoked == nil { record.revoked = now }
        }
    }

    /// Records the use of a token.
    package func markUsed(_ id: String, at now: Timestamp) throws(StoreError) {
        _ = try change(id, timeout: .seconds(1)) { record in record.lastUsed = max(now, record.lastUsed ?? now) }
    }

    private func change(
        _ id: String, timeout: Duration, _ body: (inout TokenRecord) -> Void
    ) throws(StoreError) -> TokenRecord? {
        var changed: TokenRecord?
        try settings.update(SettingKey.accessToken(id), timeout: timeout) { value in
            guard let value, var record = TokenRecord(id: id, setting: value) else { return value }
            body(&record)
            changed = record
            return record.setting
        }
        return changed
    }
}

extension TokenRecord {
    /// Whether two tokens have one name: those of a person among each other, and those of one maker.
    fileprivate func hasName(of other: TokenRecord) -> Bool {
        name == other.name && maker?.owner == other.maker?.owner
    }
}
