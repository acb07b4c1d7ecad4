// Who imports Sluice needs the vocabulary (commands, JSON) and the operation's protocol, and should not have to know
// in which module they stand.
@_exported public import Commands
@_exported public import Work
