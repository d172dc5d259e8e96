/** Visibility of jobs: metrics, spans, and the record for callers with a role. On both engines. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { context, propagation, trace, type Tracer } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import {
  BelongsTo,
  Controller,
  Field,
  GraphQL,
  Module,
  NoAuth,
  Post,
  Record,
  type Rel,
} from 'filigree'
import { Job, JobEntry, Jobs, jobs } from 'filigree/jobs'
import { metrics } from 'filigree/metrics'
import { testApplication, type TestApplication } from 'filigree/testing'
import { tracing } from 'filigree/tracing'
import { closeJobDatabases, jobDatabases } from '../modules/jobs/databases.js'
import { waitUntil } from '../wait-until.js'

const ranLinks: string[] = []

class Work {
  @Job({ secret: true, retries: 0, keep: '1h' }) invite({ link }: { readonly link: string }): void {
    ranLinks.push(link)
    if (link === 'fails') throw new Error('no')
  }

  @Job({ retries: 1 }) run({ fail }: { readonly fail: boolean }): void {
    if (fail) throw new Error('no')
  }
}

@NoAuth
@Controller('/asks')
class JobController {
  static inject = [Jobs]
  constructor(private readonly jobs: Jobs) {}
  @Post('/') async addJob() {
    return this.jobs.add(Work, 'run', { fail: false })
  }
}

@Controller('/jobs', { crud: JobEntry })
class JobList {}

/** A record that refers to a job. */
@Record({ table: 'parcel', plural: 'parcels' })
class Parcel {
  @Field('id') id!: number
  @Field('integer') jobId!: number
  @BelongsTo(() => JobEntry) job!: Rel<JobEntry>
}

@Controller('/parcels', { crud: Parcel })
class ParcelList {}

const exporter = new InMemorySpanExporter()

describe.each(jobDatabases)('on %s', (_name, open) => {
  let desk: TestApplication
  let closed: TestApplication
  let queue: Jobs
  let tracer: Tracer

  const start = async (database: string, roles?: string): Promise<TestApplication> => {
    const graphql = new GraphQL().registerRoute('/graphql')
    graphql.schema.fromOrm(JobEntry)
    graphql.schema.fromOrm(Parcel)
    @Module({
      controllers: [JobList, ParcelList, JobController],
      providers: [Work],
      records: [JobEntry, Parcel],
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

  /** The metrics of jobs are missing from a scrape where the database takes too long, so it is repeated. */
  const scrape = async (): Promise<string> => {
    let text = ''
    await waitUntil(async () => {
      ;({ text } = await desk.anonymous.get('/metrics'))
      return text.includes('\njobs_waiting ')
    })
    return text
  }

  it('metrics count runs, and waiting jobs', async () => {
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

  it('a client with the role reads jobs, others see none, and no client writes them', async () => {
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

  describe('for every caller', () => {
    const callers = () => [
      desk.anonymous,
      desk.as({ sub: '2', roles: ['other'] }),
      desk.as({ sub: '1', roles: ['ops'] }),
      desk.operator,
    ]

    it('no interface writes, repeats or cancels a job', async () => {
      const { id } = await queue.add(Work, 'run', { fail: false }, { in: '1h' })
      const before = await queue.find(id)
      const count = (await queue.list({ limit: 1000 })).length
      for (const caller of callers()) {
        const refused = [
          await caller.post('/jobs', { name: 'Work.run', state: 'waiting' }),
          await caller.put(`/jobs/${id}`, { state: 'cancelled' }),
          await caller.patch(`/jobs/${id}`, { state: 'cancelled' }),
          await caller.delete(`/jobs/${id}`),
          await caller.delete('/jobs'),
          await caller.post('/parcels', { job: { create: { name: 'Work.run' } } }),
        ]
        expect(refused.filter(({ status }) => status < 400)).toEqual([])
        for (const mutation of [
          `updateJobEntry(id: ${id}, input: { state: "cancelled" }) { id }`,
          `deleteJobEntry(id: ${id}) { id }`,
          'createJobEntry(input: { name: "Work.run" }) { id }',
          'createParcel(input: { job: { create: { name: "Work.run" } } }) { id }',
          `createParcel(input: { job: { connect: ${id}, update: { state: "done" } } }) { id }`,
        ])
          expect((await caller.graphql(`mutation { ${mutation} }`)).errors).toHaveLength(1)
      }
      expect(await queue.find(id)).toEqual(before)
      expect(await queue.list({ limit: 1000 })).toHaveLength(count)
      const { data } = await desk.operator.graphql(
        '{ __schema { mutationType { fields { name } } } }',
      )
      expect(JSON.stringify(data).toLowerCase()).not.toContain('jobentr')
    })

    it('relations to a job reveal it only to callers with the role', async () => {
      const { id } = await queue.add(Work, 'run', { fail: false }, { in: '1h' })
      const { body } = await desk.operator.post('/parcels', { jobId: id })
      const parcel = (body as { readonly id: number }).id
      const question = `{ parcel(id: ${parcel}) { job { name } } }`
      for (const caller of callers().slice(0, 2)) {
        expect(JSON.stringify((await caller.graphql(question)).data)).not.toContain('Work.run')
        expect((await caller.get(`/parcels/${parcel}?with=job`)).text).not.toContain('Work.run')
        expect((await caller.get('/parcels?job.name=Work.run')).text).not.toContain(
          `"id":${parcel}`,
        )
      }
    })

    it.each([
      '0',
      '-1',
      '1.5',
      '1e3',
      'NaN',
      '9007199254740993',
      '99999999999999999999',
      "1' or '1'='1",
      '%00',
    ])('the id %s finds nothing, without an error', async (id) => {
      for (const caller of callers()) {
        const { status } = await caller.get(`/jobs/${encodeURIComponent(id)}`)
        expect([400, 404]).toContain(status)
        const { data } = await caller.graphql(`query ($id: Int!) { jobEntry(id: $id) { id } }`, {
          id: Number(id),
        })
        expect(data?.jobEntry ?? null).toBeNull()
      }
      for (const forged of [id, Number(id), [id], { id }, null, undefined]) {
        expect(await queue.retry(forged as number)).toBe(false)
        expect(await queue.cancel(forged as number)).toBe(false)
        expect(await queue.find(forged as number)).toBeUndefined()
      }
    })
  })

  it('GraphQL has no subscription of jobs', async () => {
    const { data } = await desk.operator.graphql(
      '{ __schema { subscriptionType { fields { name } } } }',
    )
    expect(JSON.stringify(data).toLowerCase()).not.toContain('jobentr')
  })

  describe('the body of a secret job', () => {
    const rowOf = async (id: number) => {
      const { body, secretBody } = (await queue.find(id))!
      return { body, secretBody }
    }
    const empty = { body: null, secretBody: null }

    it('cannot be read by clients, and is deleted when the job is done', async () => {
      const { id } = await queue.add(Work, 'invite', { link: 'once' })
      const ops = desk.as({ sub: '1', roles: ['ops'] })
      expect((await ops.get(`/jobs/${id}`)).body).toMatchObject({ name: 'Work.invite', body: null })
      expect(JSON.stringify((await ops.get('/jobs')).body)).not.toContain('once')
      const { errors } = await ops.graphql(`{ jobEntry(id: ${id}) { secretBody } }`)
      expect(errors?.[0]?.message).toContain('secretBody')
      expect((await ops.get('/jobs?secretBody.isNull=false')).status).toBe(400)
      await queue.drain()
      expect(ranLinks.splice(0)).toEqual(['once'])
      expect(await rowOf(id)).toEqual(empty)
    })

    it('is deleted when it is cancelled, which cannot be undone', async () => {
      const { id } = await queue.add(Work, 'invite', { link: 'once' }, { in: '1h' })
      expect(await queue.cancel(id)).toBe(true)
      expect(await rowOf(id)).toEqual(empty)
      expect(await queue.retry(id)).toBe(false)
    })

    it('of a failed job can be run again during the retention time', async () => {
      const [one, two] = await queue.addMany(Work, 'invite', [{ link: 'fails' }, { link: 'fails' }])
      const [id, other] = [one?.id ?? 0, two?.id ?? 0]
      await queue.drain()
      expect(await rowOf(id)).toEqual({ body: null, secretBody: { link: 'fails' } })
      expect(await queue.retry(other)).toBe(true)
      await desk.clock.advance('2h')
      await queue.drain()
      expect(ranLinks.splice(0)).toEqual(['fails', 'fails', 'fails'])
      expect(await rowOf(id)).toEqual(empty)
      expect(await queue.retry(id)).toBe(false)
      expect(await queue.find(id)).toMatchObject({ state: 'failed' })
    })
  })

  it('two applications of a process have separate readers', async () => {
    const other = await start(await open(), 'support')
    const { id } = await queue.add(Work, 'run', { fail: false })
    await other.get(Jobs).addMany(
      Work,
      'run',
      Array.from({ length: 30 }, () => ({ fail: false })),
    )
    const status = async (app: TestApplication, role: string): Promise<number> =>
      (await app.as({ sub: '1', roles: [role] }).get(`/jobs/${app === desk ? id : 1}`)).status
    expect([await status(desk, 'ops'), await status(desk, 'support')]).toEqual([200, 404])
    expect([await status(other, 'ops'), await status(other, 'support')]).toEqual([404, 200])
    await other.close()
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

afterAll(closeJobDatabases)
