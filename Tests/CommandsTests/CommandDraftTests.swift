import Commands
import Testing

struct CommandDraftTests {
    @Test(arguments: ["upload", "noop", "a", "my-own.operation-2", "0", String(repeating: "x", count: 64)])
    func `a type may have lower-case letters, digits, points and hyphens`(type: String) {
        #expect(CommandDraft.isType(type))
    }

    @Test(arguments: ["", "Upload", "up load", "up_load", "é", "a/b", "a\0", String(repeating: "x", count: 65)])
    func `any other text is not a type`(type: String) {
        #expect(!CommandDraft.isType(type))
    }
}
