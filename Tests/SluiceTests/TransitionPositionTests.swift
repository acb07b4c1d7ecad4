import Sluice
import Testing

struct TransitionPositionTests {
    @Test func `a position is read back from its text`() {
        let position = TransitionPosition([17, 4, 0, 9_223_372_036_854_775_807])
        #expect(position.text == "17.4.0.9223372036854775807")
        #expect(TransitionPosition(position.text, shardCount: 4) == position)
        #expect(TransitionPosition(position.text) == position)
    }

    @Test func `the start of any store is 0`() {
        #expect(TransitionPosition("0") == .start && TransitionPosition.start.text == "0")
        #expect(TransitionPosition("0", shardCount: 3) == TransitionPosition([0, 0, 0]))
    }

    @Test(arguments: [
        "", "1", "1.2", "1.2.3.4.5", "1..2.3", "1.2.3.", "-1.2.3.4", "+1.2.3.4", "1.2.3.x", "1.2.3.9223372036854775808",
        "1,2,3,4", " 1.2.3.4",
    ])
    func `any other text is not a position of a store`(text: String) {
        #expect(TransitionPosition(text, shardCount: 4) == nil)
    }
}
