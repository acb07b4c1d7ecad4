internal import Door
internal import Hummingbird

/// An error for a person.
struct ProblemPage {
    let visit: Visit
    let problem: Problem

    init(_ visit: Visit, _ problem: Problem) {
        self.visit = visit
        self.problem = problem
    }

    var response: Response {
        let frame = PageFrame(visit, title: problem.title, section: nil)
        var response = PageFields.page(
            frame.html(
                tag(.section, .class("narrow")) {
                    tag(.h1) { problem.title }
                    tag(.p) { problem.detail }
                    tag(.p, .class("dim")) { "Status \(problem.status.code) · request \(visit.request.id)" }
                    tag(.p) {
                        tag(.a, .href(visit.url(visit.mayRead ? .overview : visit.mayUpload ? .upload : .login))) {
                            visit.mayRead ? "Overview" : visit.mayUpload ? "Upload" : "Log in"
                        }
                    }
                }), status: problem.status)
        response.headers.append(contentsOf: problem.fields)
        return response
    }
}
