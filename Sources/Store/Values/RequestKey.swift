/// The unique keys of commands that requests with an `Idempotency-Key` have made.
///
/// A request may be repeated with another type or ordering key, which the index of unique keys takes for another key, and
/// after its command has given the key up. So these keys have an index of their own, and the door looks there first. It
/// is the only process that makes such keys, and one door has a data directory.
package enum RequestKey {
    /// Every such key begins with it.
    package static let prefix = "idempotency:"

    /// For SQLite, which takes a partial index only where a query repeats its condition.
    static let condition = "unique_key >= 'idempotency:' AND unique_key < 'idempotency;'"
}
