import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from '@jest/globals'
import { MinLength } from 'class-validator'
import { bootstrap, Config, Controller, DeclarationError, Field, Get, Module } from 'filigree'
import type { Application } from 'filigree'
import { planApplication } from '../../src/bootstrap/plan-application.js'

@Config
class MailConfig {
  @Field('string') mailHost!: string
  @Field('integer', { default: 25, min: 1 }) mailPort!: number
  @Field('boolean', { optional: true }) mailTLS?: boolean
  @Field('string', { hidden: true, minLength: 8 }) mailPassword!: string
  @Field('string', { list: true, optional: true }) mailCopies?: string[]
}

@Controller('/mail')
class MailController {
  static inject = [MailConfig]
  constructor(readonly mail: MailConfig) {}
  @Get('/') show(): object {
    return this.mail
  }
}

const env = { MAIL_HOST: 'mail.example', MAIL_PASSWORD: 'hush-hush', MAIL_COPIES: 'a@b, c@d' }
let app: Application | undefined
afterEach(async () => {
  await app?.close()
  app = undefined
})

async function start(variables: Record<string, string>, options: object = {}): Promise<MailConfig> {
  @Module({ controllers: [MailController], providers: [MailConfig] })
  class AppModule {}
  app = await bootstrap(AppModule, { listen: false, logger: false, env: variables, ...options })
  return app.get(MailConfig)
}

async function problemsOf(variables: Record<string, string>): Promise<string> {
  const error: unknown = await start(variables).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(DeclarationError)
  return (error as DeclarationError).message
}

describe('@Config', () => {
  it('reads its fields from the environment, and is frozen', async () => {
    const mail = await start({ ...env, MAIL_PORT: ' 587 ', MAIL_TLS: 'true' })
    expect(mail).toBeInstanceOf(MailConfig)
    expect(Object.assign({}, mail)).toEqual({
      mailHost: 'mail.example',
      mailPort: 587,
      mailTLS: true,
      mailCopies: ['a@b', 'c@d'],
    })
    expect(mail.mailPassword).toBe('hush-hush')
    expect(() => Object.assign(mail, { mailPort: 1 })).toThrow(TypeError)
    expect(() => mail.mailCopies?.push('e@f')).toThrow(TypeError)
  })

  it('uses a default where a variable is missing or blank: a blank number is never 0', async () => {
    expect((await start({ ...env, MAIL_PORT: '  ', MAIL_TLS: '' })).mailPort).toBe(25)
    expect(app!.get(MailConfig).mailTLS).toBeUndefined()
  })

  it('reports every error together with all others', async () => {
    const report = await problemsOf({ MAIL_PORT: 'many', PORT: 'none', MAIL_PASSWORD: 'short' })
    expect(report).toContain('MAIL_HOST is not set, for MailConfig.mailHost.')
    expect(report).toContain('MAIL_PORT must be an integer, for MailConfig.mailPort.')
    expect(report).toContain('MAIL_PASSWORD must have at least 8 characters')
    expect(report).toContain('PORT: "none" is not a port.')
    expect(report).not.toContain('short')
  })

  it('names the violated rule of a secret, but not the secret', async () => {
    @Config
    class Secrets {
      @Field('integer', { hidden: true }) pin!: number
      @Field('string', { hidden: true, oneOf: ['mild', 'bold'] }) taste!: string
      @Field('string', { hidden: true })
      @MinLength(8, { message: '$value is such a short word' })
      word!: string
      @Field('integer', { hidden: true, list: true }) codes!: number[]
    }
    @Module({ providers: [Secrets] })
    class AppModule {}
    const variables = { PIN: 'sesame', TASTE: 'sesame', WORD: 'sesame', CODES: '1,sesame' }
    const started = bootstrap(AppModule, { listen: false, logger: false, env: variables })
    const { message } = await started.then(
      () => new Error('started'),
      (error: unknown) => error as Error,
    )
    expect(message).toContain('PIN must be an integer, for Secrets.pin.')
    expect(message).toContain('TASTE breaks its rule oneOf, for Secrets.taste.')
    expect(message).toContain('WORD breaks its rule minLength, for Secrets.word.')
    expect(message).toContain('CODES breaks its rule type, for Secrets.codes.')
    expect(message).not.toMatch(/sesame|mild/)
  })

  it('never shows a secret', async () => {
    const mail = await start(env)
    const output = [
      JSON.stringify(mail),
      inspect(mail, { showHidden: true, depth: 5 }),
      inspect({ mail }, { showHidden: true, getters: true, depth: 5 }),
      JSON.stringify(Object.assign({}, mail)),
      JSON.stringify(structuredClone(Object.assign({}, mail))),
      (await app!.inject('/mail')).body,
    ].join()
    expect(output).toContain('mail.example')
    expect(output).not.toContain('hush')
  })

  it('is created where it is injected, listed or not', async () => {
    @Module({ controllers: [MailController] })
    class AppModule {}
    app = await bootstrap(AppModule, { listen: false, logger: false, env })
    expect(app.get(MailController).mail.mailHost).toBe('mail.example')
  })

  it('is not read where a test overrides it, or the application is only described', async () => {
    const fake = { mailHost: 'fake' }
    expect(await start({}, { override: [[MailConfig, fake]] })).toBe(fake)
    @Module({ controllers: [MailController] })
    class AppModule {}
    const plan = await planApplication(AppModule, { logger: false, env: {} })
    expect(plan.document().paths).toHaveProperty('/mail')
  })
})
