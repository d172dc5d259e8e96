/**
 * Decorated classes that no module lists stop the start, in the report with the other problems.
 *
 * @jest-environment node
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  createModule,
  createMetadata,
  Get,
  HealthCheck,
  Module,
  type Application,
  type DeclarationError,
} from 'filigree'
import { health } from 'filigree/health'
import { Cron, Every, Job, jobs } from 'filigree/jobs'

let app: Application | undefined
afterEach(() => app?.close())

async function problemsOf(module: new () => object): Promise<string[]> {
  try {
    app = await bootstrap(module, {
      listen: false,
      logger: false,
      env: {},
      database: 'sqlite::memory:',
    })
    return []
  } catch (error) {
    return (error as DeclarationError).problems.map(({ code, message }) => `${code}: ${message}`)
  }
}

class ForgottenMail {
  @Job() welcome(): void {
    return undefined
  }
}

class ForgottenReports {
  @Cron('0 3 * * *') nightly(): void {
    return undefined
  }
  @Every('10m') often(): void {
    return undefined
  }
}

class ForgottenStore {
  @HealthCheck('store') ping(): void {
    return undefined
  }
}

abstract class Base {
  @Job() inherited(): void {
    return undefined
  }
}
class Derived extends Base {}

class Value {
  @Job() ofValue(): void {
    return undefined
  }
}

class OfAnotherApplication {
  @Job() elsewhere(): void {
    return undefined
  }
}

@Module({ providers: [() => OfAnotherApplication] })
class AnotherModule {}

@Controller('/jobs')
class JobController {
  @Get('/')
  @Job()
  ofController(): string {
    return ''
  }
}

describe('a class in the providers of no module', () => {
  it('stops the start where it has jobs, with the other problems', async () => {
    @Controller('/<id:integer>')
    class FaultyController {
      @Get('/')
      show(): string {
        return ''
      }
    }
    @Module({
      imports: [jobs()],
      controllers: [FaultyController, JobController],
      providers: [Derived, { provide: 'value', use: new Value() }],
    })
    class AppModule {}
    const problems = await problemsOf(AppModule)
    expect(problems).toEqual([
      expect.stringContaining('unknown type "integer"'),
      `MISSING_PROVIDER: ${ForgottenMail.name}.welcome has @Job, but no module lists its class.`,
      `MISSING_PROVIDER: ${ForgottenReports.name}.nightly has @Cron, but no module lists its class.`,
      `MISSING_PROVIDER: ${ForgottenReports.name}.often has @Every, but no module lists its class.`,
    ])
    expect(AnotherModule.name).toBe('AnotherModule')
  })

  it('stops the start where it has health checks', async () => {
    @Module({ imports: [health()] })
    class AppModule {}
    expect(await problemsOf(AppModule)).toEqual([
      `MISSING_PROVIDER: ${ForgottenStore.name}.ping has @HealthCheck, but no module lists its class.`,
    ])
  })

  it('stops the start where a package checks its custom decorator', async () => {
    const Nightly = createMetadata<[hour: number]>('Nightly')
    class Cleaner {
      @Nightly(3) tidy(): void {
        return undefined
      }
    }
    const nightly = createModule(function nightly() {
      return { check: Nightly.findUnlisted }
    })
    @Module({ imports: [nightly()] })
    class AppModule {}
    expect(await problemsOf(AppModule)).toEqual([
      'MISSING_PROVIDER: Cleaner.tidy has @Nightly, but no module lists its class.',
    ])
    @Module({ imports: [nightly()], providers: [Cleaner] })
    class ListedModule {}
    expect(await problemsOf(ListedModule)).toEqual([])
  })

  it('is allowed in an application without the module that reads the decorator', async () => {
    @Module()
    class AppModule {}
    expect(await problemsOf(AppModule)).toEqual([])
  })
})
