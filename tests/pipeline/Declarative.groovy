// Stand-in of Jenkins: runs a declarative pipeline with steps that only note what they are asked, and prints the notes.
// Usage: Declarative.groovy JENKINSFILE SCENARIO, a JSON object: params, and faults [{cell, step, does}] where does is
// a status, "fail" or "abort". Each line of the output is a JSON array of the cell and the event.
import groovy.json.JsonOutput
import groovy.json.JsonSlurper

class Failed extends RuntimeException { Failed(String text) { super(text) } }
class Aborted extends RuntimeException { Aborted() { super('aborted') } }

class Section {
    static final CONDITIONS = ['always', 'aborted', 'failure', 'success', 'unstable', 'unsuccessful', 'cleanup']
    static final INSIDE = [
        '': ['pipeline'], pipeline: ['agent', 'parameters', 'options', 'stages', 'post', 'environment'],
        parameters: ['choice'], options: ['timeout', 'buildDiscarder', 'logRotator', 'lock'], stages: ['stage'],
        stage: ['agent', 'matrix', 'when', 'options', 'steps', 'post', 'stages'],
        matrix: ['agent', 'axes', 'stages', 'post'], axes: ['axis'], axis: ['name', 'values'],
        when: ['beforeOptions', 'expression'], post: CONDITIONS
    ]
    static final LAZY = CONDITIONS + ['steps', 'expression']
    String name
    List args = []
    Closure body
    Map params
    List<Section> inside = []
    def any = 'any', none = 'none'

    def methodMissing(String called, Object given) {
        if (!(called in (INSIDE[name] ?: []))) { throw new Failed("${name}: unknown section ${called}") }
        def words = given as List
        def section = new Section(name: called, params: params)
        if (words && words[-1] instanceof Closure) { section.body = words.pop() }
        section.args = words
        if (section.body && !(called in LAZY)) { section.read() }
        inside << section
        section
    }
    void read() {
        body.delegate = this
        body.resolveStrategy = Closure.DELEGATE_FIRST
        body()
    }
    Section one(String called) { inside.find { it.name == called } }
    List<Section> all(String called) { inside.findAll { it.name == called } }
    def value(String called) { one(called).args }
}

class Steps {
    Map params, env
    List faults
    String cell, result
    def trace

    void note(String event) { trace([cell, event]) }
    def fault(String text) { faults.find { (it.cell ?: cell) == cell && text.contains(it.step) }?.does }
    def act(String name, String text) {
        note("${name} ${text}")
        def does = fault("${name} ${text}")
        if (does == 'abort') { throw new Aborted() }
        if (does == 'fail') { throw new Failed(text) }
        does ?: 0
    }
    def sh(String text) { sh(script: text) }
    def sh(Map asked) {
        int status = act('sh', asked.script)
        if (status && !asked.returnStatus) { throw new Failed("status ${status}") }
        status
    }
    def script(Closure body) { run(body) }
    def error(String text) { note("error ${text}"); throw new Failed(text) }
    def unstable(String text) { note("unstable ${text}"); result = result ?: 'UNSTABLE' }
    def catchError(Map asked, Closure body) {
        try { run(body) } catch (Failed failed) { note("caught ${asked.message}"); result = result ?: asked.buildResult }
    }
    def methodMissing(String name, Object given) {
        if (!(name in ['junit', 'robot', 'allure', 'archiveArtifacts', 'publishHTML'])) { throw new Failed("unknown step ${name}") }
        act(name, given[0].toString())
    }
    def propertyMissing(String name) {
        if (!env.containsKey(name)) { throw new Failed("no variable ${name}") }
        env[name]
    }
    def run(Closure body) {
        body.delegate = this
        body.resolveStrategy = Closure.DELEGATE_FIRST
        body()
    }
}

class Interpreter {
    Map params
    List faults
    String result = 'SUCCESS'
    def trace = { println JsonOutput.toJson(it) }

    void run(Section pipeline) {
        pipeline.one('parameters')?.all('choice')?.each { choice ->
            def asked = choice.args[0]
            params[asked.name] = params.get(asked.name, asked.choices[0])
            if (!(params[asked.name] in asked.choices)) { throw new Failed("${asked.name}: no choice: ${params[asked.name]}") }
        }
        stages(pipeline, [BUILD_TAG: 'jenkins-1'] + params, '')
        trace(['', "RESULT ${result}"])
    }
    String stages(Section parent, Map env, String cell) {
        String worst = null
        parent.one('stages').all('stage').each { worst = worse(worst, worst in ['FAILURE', 'ABORTED'] ? worst : stage(it, env, cell)) }
        worst
    }
    String stage(Section stage, Map env, String cell) {
        if (stage.one('matrix')) { return matrix(stage.one('matrix'), env) }
        def steps = new Steps(params: params, env: env, faults: faults, cell: cell, trace: trace)
        def when = stage.one('when')
        if (when && !steps.run(when.one('expression').body)) { return null }
        def lock = stage.one('options')?.one('lock')
        if (lock) {
            env[lock.args[0].variable] = "${lock.args[0].label}1".toString()
            steps.note("lock ${lock.args[0].label}")
        }
        attempt(steps) { steps.run(stage.one('steps').body) }
        Section.CONDITIONS.each { condition ->
            def section = stage.one('post')?.one(condition)
            if (section && applies(condition, steps.result)) { attempt(steps) { steps.run(section.body) } }
        }
        if (lock) { steps.note('unlock') }
        result = worse(result, steps.result)
        steps.result
    }
    String matrix(Section matrix, Map env) {
        def axis = matrix.one('axes').one('axis')
        String worst = null
        axis.value('values').each { worst = worse(worst, stages(matrix, env + [(axis.value('name')[0]): it], it)) }
        worst
    }
    static boolean applies(String condition, String result) {
        condition in ['always', 'cleanup'] || condition == (result ?: 'SUCCESS').toLowerCase() || (condition == 'unsuccessful' && result)
    }
    static void attempt(Steps steps, Closure body) {
        try { body() }
        catch (Aborted aborted) { steps.result = 'ABORTED' }
        catch (Failed failed) { steps.note("failed ${failed.message}"); steps.result = worse(steps.result, 'FAILURE') }
    }
    static String worse(String one, String other) {
        def order = [null, 'SUCCESS', 'UNSTABLE', 'FAILURE', 'ABORTED']
        order[Math.max(order.indexOf(one), order.indexOf(other))]
    }
}

def scenario = new JsonSlurper().parse(new File(args[1]))
def interpreter = new Interpreter(params: scenario.params ?: [:], faults: scenario.faults ?: [])
def root = new Section(name: '', params: interpreter.params)
def script = new GroovyShell(new Binding(pipeline: null)).parse(new File(args[0]))
interpreter.params.putIfAbsent('BENCHES', 'virtual')
script.metaClass.pipeline = { Closure body -> root.methodMissing('pipeline', [body] as Object[]) }
script.run()
interpreter.run(root.one('pipeline'))
