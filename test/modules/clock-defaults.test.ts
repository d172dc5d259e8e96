/** `default: 'now'` uses the clock of the test, however a row or a body is created. */
import { describe, expect, it } from '@jest/globals'
import {
  BeforeWrite,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  type Generated,
} from '../../src/index.js'
import { testApplication } from '../../src/modules/testing/testing.js'
import { startBothEngines } from '../records/both-engines.js'

@Record({ timestamps: true })
class Visit {
  @Field('id') id!: number
  @Field('string', { unique: true }) name!: string
  @Field('datetime', { default: 'now', readOnly: true }) startedAt!: Generated<string>
  @Field('date', { default: 'now' }) day!: Generated<string>
}

/** A record with a hook, whose values are checked twice. */
@Record
class Hooked {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('datetime', { default: 'now' }) startedAt!: Generated<string>

  @BeforeWrite() trimName(): void {
    this.name = this.name.trim()
  }
}

class Body {
  @Field('datetime', { default: 'now' }) at!: string
}

@Controller('/visits', { crud: Visit })
@NoAuth
class Visits {}

@Controller('/bodies')
@NoAuth
class Bodies {
  @Post('/', { body: Body })
  create(body: Body): object {
    return { at: body.at }
  }
}

@Module({ records: [Visit, Hooked], controllers: [Visits, Bodies] })
class VisitModule {}

describe.each(await startBothEngines())('default: now on %s', (_name, open) => {
  it('uses the clock of the test', async () => {
    await using desk = await testApplication(VisitModule, { database: await open() })
    await desk.clock.set('2031-05-06T07:08:09Z')
    const visits = desk.records(Visit)
    const caller = desk.as({ sub: '7' })
    await visits.create({ name: 'a' })
    await visits.createMany([{ name: 'b' }, { name: 'c' }])
    await visits.upsert({ name: 'd' }, { by: 'name' })
    await visits.insertMany([{ name: 'e' }])
    expect((await caller.post('/visits', { name: 'f' })).status).toBe(201)
    const { errors } = await caller.graphql('mutation { createVisit(input: { name: "g" }) { id } }')
    expect(errors).toBeUndefined()
    const rows = await visits.list({ limit: 20 })
    expect(rows).toHaveLength(7)
    for (const { name, startedAt, day, createdAt, updatedAt } of rows as unknown as {
      [name: string]: string
    }[]) {
      expect({ name, day }).toEqual({ name, day: '2031-05-06' })
      for (const timestamp of [startedAt, createdAt, updatedAt])
        expect(timestamp).toMatch(/^2031-05-06T07:08:/)
    }
    const hooked = await desk.records(Hooked).create({ name: ' h ' })
    expect(hooked.startedAt).toMatch(/^2031-05-06T07:08:/)
    expect((await caller.post('/bodies', {})).body.at).toMatch(/^2031-05-06T07:08:/)
  })
})
