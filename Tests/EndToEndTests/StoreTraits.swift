import Testing

extension Trait where Self == ConditionTrait {
    /// Of a test whose subject only a store in the data directory has. A run with another store skips it and says why.
    /// - Parameter reason: what a store on a server has in its place.
    static func filesOnly(_ reason: Comment) -> Self { .disabled(if: ServerStore.isAsked, reason) }
}
