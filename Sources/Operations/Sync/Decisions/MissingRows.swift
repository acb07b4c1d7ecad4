internal import Commands

/// Decides whether rows are deleted because the remote list does not have them. Pure.
///
/// A list that is empty by mistake, or was read in part, must not empty the collection. So rows are deleted
/// only after a whole read, and many at once only where the payload permits it.
enum MissingRows: Sendable, Equatable {
    /// Deletes them.
    case delete
    /// Leaves them; the rest of the sync is applied.
    /// - Parameter because: a sentence for the result; nil where the payload asks for no deletion.
    case retain(because: String?)
    /// Reads the whole list once more.
    case readAgain
    /// Ends the command; nothing is written.
    case refuse(CommandFailure)

    init(_ facts: ReadFacts, collection: String) {
        guard facts.mode == .replace, facts.read == .full else {
            self = .retain(because: nil)
            return
        }
        if let doubt = Self.doubt(facts) {
            self = Self.retained(doubt)
        } else if facts.paging.isByPosition, facts.duplicates > 0 {
            self =
                facts.isSecondRead
                ? Self.retained("the list changed during both reads, as \(facts.duplicates) keys came twice")
                : .readAgain
        } else if facts.listed == 0, facts.rows > 0 {
            self =
                facts.allowEmpty
                ? .delete
                : Self.refusal(
                    "the list is empty, and the collection “\(collection)” has \(facts.rows) rows; nothing was "
                        + "written; submit with “allowEmpty” if the list is really empty")
        } else if !facts.maxDelete.permits(facts.missing, of: facts.rows) {
            self = Self.refusal(
                "\(facts.missing) of the \(facts.rows) rows of the collection “\(collection)” are missing in the list, "
                    + "more than “maxDelete” (\(facts.maxDelete.text)); nothing was written; submit with a larger "
                    + "“maxDelete” if they are really gone")
        } else {
            self = .delete
        }
    }

    /// Why the read may not be the whole list.
    private static func doubt(_ facts: ReadFacts) -> String? {
        if case .partial(let reason) = facts.end { return reason }
        if !facts.everyPageWas200 { return "a page was not answered 200" }
        if facts.rejectsWithoutKey > 0 { return "\(facts.rejectsWithoutKey) rejected records have no known key" }
        return nil
    }

    private static func retained(_ reason: String) -> MissingRows {
        .retain(because: "rows that are missing in the list were not deleted: \(reason)")
    }

    private static func refusal(_ reason: String) -> MissingRows {
        var failure = CommandFailure(.final, reason: reason)
        failure.isAnswer = true
        return .refuse(failure)
    }
}
