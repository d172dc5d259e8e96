/** Text that databases cannot store is 400 with every validation rule, never 5xx. Source: decisions, Validation and fields. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import * as rules from 'class-validator'
import {
  bootstrap,
  Controller,
  Field,
  Module,
  NoAuth,
  Post,
  type Application,
} from '../../src/index.js'

const texts = [
  '\ud800',
  '\udc00',
  'a\ud800b',
  '\0',
  'a\0b',
  'https://x.example/\ud800',
  'a@\ud800.example',
]

/** Rules that accept a text. Each gets its own property. */
const textRules: readonly (() => PropertyDecorator)[] = [
  () => rules.IsString(),
  () => rules.IsNotEmpty(),
  () => rules.IsEmail(),
  () => rules.IsUrl(),
  () => rules.IsByteLength(0, 100),
  () => rules.Length(0, 100),
  () => rules.MaxLength(100),
  () => rules.Matches(/^[^]*$/),
  () => rules.NotContains('z'),
  () => rules.NotEquals('z'),
  () => rules.IsNotIn(['z']),
  () => rules.IsDefined(),
  () => rules.IsMimeType(),
  () => rules.IsFQDN(),
  () => rules.IsBase64(),
  () => rules.IsDateString(),
  () => rules.IsJSON(),
  () => rules.IsPhoneNumber('DE'),
  () => rules.IsLatLong(),
  () => rules.IsIP(),
]

function classWith(decorate: PropertyDecorator, index: number): new () => object {
  class Text {
    value!: string
  }
  Object.defineProperty(Text, 'name', { value: `Text${index}` })
  decorate(Text.prototype, 'value')
  return Text
}

class Plain {
  @Field('string') value!: string
}

class Listed {
  @rules.IsString({ each: true }) value!: string[]
}

const handlers = [...textRules.map((rule, index) => classWith(rule(), index)), Plain]

@Controller
class TextController {}

for (const [index, type] of [...handlers, Listed].entries()) {
  const name = `take${index}`
  Object.defineProperty(TextController.prototype, name, { value: () => ({}), writable: true })
  const descriptor = Object.getOwnPropertyDescriptor(TextController.prototype, name)!
  Post(`/${index}`, { body: type, args: [] })(TextController.prototype, name, descriptor)
  NoAuth(TextController.prototype, name, descriptor)
}

@Module({ controllers: [TextController] })
class TextModule {}

describe('text with NUL or lone surrogates', () => {
  let app: Application

  beforeAll(async () => {
    app = await bootstrap(TextModule, { listen: false, logger: false, env: {} })
  })
  afterAll(() => app.close())

  it.each(handlers.map((_, index) => index))('is 400 by rule %d', async (index) => {
    for (const value of texts) {
      const answer = await app.inject({ url: `/${index}`, json: { value } })
      expect([value, answer.status]).toEqual([value, 400])
      expect(answer.json()).toMatchObject({ errors: [{ path: 'value' }] })
    }
  })

  it('is 400 in a list', async () => {
    const answer = await app.inject({ url: `/${handlers.length}`, json: { value: ['a', 'b\0'] } })
    expect(answer.status).toBe(400)
  })

  it('is not confused with complete surrogate pairs', async () => {
    const answer = await app.inject({ url: '/0', json: { value: 'ä😀' } })
    expect(answer.status).toBe(200)
  })
})
