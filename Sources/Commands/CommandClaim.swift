/// One execution of a command, named by the command and its claim. The claim is counted, so that a late word about an
/// earlier execution names another value.
package struct CommandClaim: Hashable, Sendable {
    package var id: CommandID
    package var claim: Int

    package init(id: CommandID, claim: Int) {
        self.id = id
        self.claim = claim
    }
}
