/** What people see of jobs: metrics, spans, and the record for those with a role. On both engines. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { context, propagation, trace, type Tracer } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { Controller, GraphQL, Module, NoAuth, Post } from 'filigree'
import { Job, JobEntry, Jobs, jobs } from 'filigree/jobs'
import { metrics } from 'filigree/metrics'
import { testApplication, type TestApplication } from 'filigree/testing'
import { tracing } from 'filigree/tracing'
import { closeGrounds, grounds } from './grounds.js'

class Work {
  @Job({ retries: 1 }) run({ fail }: { readonly fail: boolean }): void {
    if (fail) throw new Error('no')
  }
}

@NoAuth
@Controller('/asks')
class Asks {
  static inject = [Jobs]
  constructor(private readonly jobs: Jobs) {}
  @Post('/') async ask() {
    return this.jobs.add(Work, 'run', { fail: false })
  }
}

@Controller('/jobs', { crud: JobEntry })
class JobList {}

const exporter = new InMemorySpanExporter()

describe.each(grounds)('on %s', (_name, open) => {
  let desk: TestApplication
  let closed: TestApplication
  let queue: Jobs
  let tracer: Tracer

  const start = async (database: string, roles?: string): Promise<TestApplication> => {
    const graphql = new GraphQL().registerRoute('/graphql')
    graphql.schema.fromOrm(JobEntry)
    @Module({
      controllers: [JobList, Asks],
      providers: [Work],
      records: [JobEntry],
      graphql: [graphql],
      imports: [jobs(roles === undefined ? {} : { roles }), metrics(), tracing()],
    })
    class App {}
    return testApplication(App, { database })
  }

  beforeAll(async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    })
    trace.setGlobalTracerProvider(provider)
    tracer = trace.getTracer('test')
    desk = await start(await open(), 'ops')
    queue = desk.get(Jobs)
  })
  afterAll(async () => {
    await desk.close()
    trace.disable()
    context.disable()
    propagation.disable()
  })

  /** Where the database takes longer than a scrape waits, the figures of jobs are left out of it. */
  const scrape = async (): Promise<string> => {
    const { text } = await desk.anonymous.get('/metrics')
    return text.includes('\njobs_waiting ') ? text : scrape()
  }

  it('metrics count runs, and say what waits', async () => {
    await queue.add(Work, 'run', { fail: false })
    await queue.add(Work, 'run', { fail: true })
    await queue.add(Work, 'run', { fail: false }, { in: '1h' })
    expect(await scrape()).toContain('\njobs_waiting 3\n')
    await queue.drain()
    const text = await scrape()
    expect(text).toContain('\njobs_waiting 2\n')
    expect(text).toContain('\njobs_running 0\n')
    expect(text).toMatch(/\njobs_oldest_seconds \d/)
    expect(text).toContain('jobs_runs_total{job="Work.run",outcome="done"} 1')
    expect(text).toContain('jobs_runs_total{job="Work.run",outcome="again"} 1')
    expect(text).toContain('jobs_run_seconds_count{job="Work.run"} 2')
  })

  it('a run is a span, linked to the one of the request that added it', async () => {
    exporter.reset()
    await desk.anonymous.post('/asks')
    await queue.drain()
    const spans = exporter.getFinishedSpans()
    const run = spans.find(({ name }) => name === 'job Work.run')
    const request = spans.find(({ name }) => name.startsWith('POST /asks'))
    expect(request).toBeDefined()
    expect(run?.attributes).toMatchObject({
      'job.name': 'Work.run',
      'job.attempt': 1,
      'job.outcome': 'done',
    })
    expect(run?.links.map((link) => link.context.traceId)).toEqual([request?.spanContext().traceId])
    expect(run?.spanContext().traceId).not.toBe(request?.spanContext().traceId)
    expect(tracer).toBeDefined()
  })

  it('a client with the role reads jobs, others see none, and nobody writes them', async () => {
    const { id } = await queue.add(Work, 'run', { fail: false })
    const ops = desk.as({ sub: '1', roles: ['ops'] })
    expect((await ops.get(`/jobs/${id}`)).body).toMatchObject({
      name: 'Work.run',
      state: 'waiting',
    })
    const { data } = await ops.graphql(`{ jobEntry(id: ${id}) { name state body } }`)
    const body = JSON.stringify({ fail: false })
    expect(data).toEqual({ jobEntry: { name: 'Work.run', state: 'waiting', body } })
    const other = desk.as({ sub: '2', roles: ['other'] })
    expect((await other.get(`/jobs/${id}`)).status).toBe(404)
    expect((await other.get('/jobs')).body).toEqual([])
    expect((await desk.anonymous.get('/jobs')).body).toEqual([])
    expect((await ops.delete(`/jobs/${id}`)).status).toBe(405)
    expect((await ops.patch(`/jobs/${id}`, { state: 'done' })).status).toBe(405)
  })

  it('without roles no client reads any', async () => {
    closed = await start(await open())
    const { id } = await closed.get(Jobs).add(Work, 'run', { fail: false })
    const ops = closed.as({ sub: '1', roles: ['ops'] })
    expect((await ops.get(`/jobs/${id}`)).status).toBe(404)
    expect((await closed.operator.get(`/jobs/${id}`)).status).toBe(404)
    await closed.close()
  })
})

afterAll(closeGrounds)
