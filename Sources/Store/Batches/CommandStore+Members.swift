package import Commands

extension CommandStore {
    /// Retries the members of a batch that have failed, which makes the batch wait for them again. A member that has another
    /// status by then, or whose unique key another command has taken since, stays as it is.
    /// - Parameter actor: as in ``RequestStore``.
    /// - Returns: the members that run again, and the effects of their retries.
    package func retryMembers(
        of batch: CommandID, by actor: String, now: Timestamp
    ) throws(StoreError) -> (count: Int, effects: Effects) {
        var filter = CommandFilter()
        filter.batch = batch
        filter.statuses = [.error, .tooManyTimes]
        var (count, effects) = (0, Effects())
        var after: CommandID?
        while true {
            let page = try page(filter, order: .oldestFirst, after: after, limit: 1000, until: nil)
            for member in page.commands {
                do throws(StoreError) {
                    guard let made = try retry(member.id, by: actor, now: now) else { continue }
                    effects.append(made)
                    count += 1
                } catch {
                    guard error.code == .conflict else { throw error }
                }
            }
            guard let next = page.next else { return (count, effects) }
            after = next
        }
    }
}
