import Commands
import Testing

struct CommandSubjectTests {
    @Test(arguments: [
        (#"{"file":"/srv/a b.mp4","to":"https://h/in/x"}"#, "/srv/a b.mp4", "a b.mp4"),
        (#"{"url":"https://h/list.json?page=2"}"#, "https://h/list.json?page=2", "/list.json"),
        (#"{"method":"PUT","url":"http://h:8080/busy/2"}"#, "http://h:8080/busy/2", "PUT /busy/2"),
        (#"{"method":"POST","url":"http://h"}"#, "http://h", "POST /"),
        (#"{"url":"http://h/"}"#, "http://h/", "http://h/"),
        (#"{"name":"publish: a.mov","nodes":2}"#, "publish: a.mov", "publish: a.mov"),
        (#"{"program":"scale","arguments":[]}"#, "scale", "scale"),
        (
            #"{"file":"/d/spool/uploads/01a22054-df7e-715f-b539-9e168bd6ec0e","to":"https://h/in/film.mp4"}"#,
            "https://h/in/film.mp4", "film.mp4"
        ),
        (
            #"{"file":"/d/spool/uploads/01a22054-df7e-715f-b539-9e168bd6ec0e","bucket":"b","key":"in/film.mp4"}"#,
            "in/film.mp4", "film.mp4"
        ),
        (
            #"{"file":"/d/spool/uploads/01a22054-df7e-715f-b539-9e168bd6ec0e"}"#,
            "/d/spool/uploads/01a22054-df7e-715f-b539-9e168bd6ec0e", "01a22054-df7e-715f-b539-9e168bd6ec0e"
        ),
    ])
    func `a command has the name of its file or URL, or of the target of a spooled one`(
        payload: String, title: String, name: String
    ) throws {
        let subject = try #require(CommandSubject(payload: Array(payload.utf8)))
        #expect(subject.title == title && subject.name == name)
    }
}
