internal import Commands

/// The place where the next page of a list begins. Opaque to clients.
struct PageCursor: Equatable {
    let order: CommandOrder
    let after: CommandID

    init(_ order: CommandOrder, after: CommandID) {
        self.order = order
        self.after = after
    }

    /// Nil for anything but ``text``.
    init?(_ text: String) {
        guard let order: CommandOrder = ["n": .newestFirst, "o": .oldestFirst][text.prefix(1)],
            let id = CommandID(text.dropFirst())
        else { return nil }
        self.init(order, after: id)
    }

    var text: String { (order == .newestFirst ? "n" : "o") + after.description }
}
