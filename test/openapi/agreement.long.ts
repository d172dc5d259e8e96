import { Ajv2020 } from 'ajv/dist/2020.js'
import formatsPlugin from 'ajv-formats'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import * as v from 'class-validator'
import { bootstrap, Controller, Field, Get, Module, NoAuth, Post, type Application } from 'filigree'

// A CommonJS module: its default export is at `default` for the compiler and at the top for Node.
const addFormats = formatsPlugin as unknown as (ajv: Ajv2020) => void

/** The decorators of a property, and why JSON Schema cannot express them exactly. */
interface Sample {
  readonly name: string
  readonly decorators: readonly PropertyDecorator[]
  /** Why the schema accepts more than the server. */
  readonly wider?: string
}

const checksums = 'checksums and lists of names'
const calendar = 'calendars'

const sample = (
  name: string,
  decorators: PropertyDecorator | readonly PropertyDecorator[],
  wider?: string,
): Sample => ({
  name,
  decorators: [decorators].flat(),
  ...(wider === undefined ? {} : { wider }),
})

enum Color {
  Red = 'red',
  Blue = 'blue',
}

enum Numbered {
  Red,
  Blue = 5,
}

/** A mixed enum as the compiler writes it. */
const Mixed = { Red: 'a', Blue: 1, 1: 'Blue' }

/** Names and values of an enum-like object with an unusual name: `1st` is not a number. */
const odd = { '1st': 'a', b: 'b', 2: 'abc' }

const letters = 'forms of texts'

const samples: readonly Sample[] = [
  sample('string', Field('string')),
  sample('string of a length', Field('string', { minLength: 2, maxLength: 4 })),
  sample('nullable string', Field('string', { nullable: true })),
  sample('optional boolean', Field('boolean', { optional: true })),
  sample('optional integer', Field('integer', { optional: true })),
  sample('only false', Field('boolean', { oneOf: [false] })),
  sample('optional string', Field('string', { optional: true })),
  sample('string with a default', Field('string', { default: 'a' })),
  sample('one of', Field('string', { oneOf: ['a', 'b'] })),
  sample('one of, or null', Field('string', { oneOf: ['a', 'b'], nullable: true })),
  sample('pattern', Field('string', { pattern: /^[a-f]+\d?$/ })),
  sample('pattern without case', Field('string', { pattern: /^[b-f]+x?\d?$/i })),
  sample('integer', Field('integer')),
  sample('integer with bounds', Field('integer', { min: 1, max: 5 })),
  sample('numeric', Field('numeric', { min: -1.5 })),
  sample('boolean', Field('boolean')),
  sample('datetime', Field('datetime'), calendar),
  sample('blob', Field('blob')),
  sample('blob of a length', Field('blob', { minLength: 1, maxLength: 3 }), 'counts of bytes'),
  sample('decimal', Field('decimal', { precision: 5, scale: 2 })),
  sample('some decimals', Field('decimal', { oneOf: ['1.50', '-2', '0', '.5'] })),
  sample('bigint', Field('bigint'), 'bounds of numbers in a text'),
  sample('some bigints', Field('bigint', { oneOf: ['1', '-5', '0', '9007199254740993'] })),
  sample('date', Field('date')),
  sample('time', Field('time')),
  sample('uuid', Field('uuid')),
  sample('some uuids', Field('uuid', { oneOf: ['f47ac10b-58cc-4372-a567-0e02b2c3d479'] })),
  sample('enum', Field('enum', { oneOf: ['red', 'a'] })),
  sample('one boolean', Field('boolean', { oneOf: [true] })),
  sample('list of booleans', Field('boolean', { list: true })),
  sample('list of booleans, or null', Field('boolean', { list: true, nullable: true })),
  sample('list of some decimals', Field('decimal', { list: true, oneOf: ['1.50'] })),
  sample('json', Field('json')),
  sample('nullable json', Field('json', { nullable: true })),
  sample('list', Field('integer', { list: true, minItems: 1, maxItems: 2 })),
  ...(
    [
      'email',
      'url',
      'uuid',
      'date',
      'time',
      'date-time',
      'hostname',
      'ipv4',
      'ipv6',
      'slug',
      'phone',
    ] as const
  ).map((format) =>
    sample(
      `format ${format}`,
      Field('string', { format }),
      format === 'date-time' ? calendar : undefined,
    ),
  ),
  sample('@Field with rules of class-validator', [
    Field('string'),
    v.IsNotEmpty(),
    v.Contains('a'),
  ]),
  sample('IsDefined', v.IsDefined()),
  sample('IsOptional', [v.IsOptional(), v.IsString()]),
  sample('IsNotEmpty', v.IsNotEmpty()),
  sample('IsEmpty', v.IsEmpty()),
  sample('Equals', v.Equals('a')),
  sample('NotEquals', v.NotEquals('a')),
  sample('IsIn', v.IsIn(['a', 1])),
  sample('IsNotIn', v.IsNotIn(['a', 1])),
  sample('IsEnum', v.IsEnum(Color)),
  sample('IsEnum of numbers', v.IsEnum(Numbered)),
  sample('IsEnum of numbers, for each', v.IsEnum(Numbered, { each: true })),
  sample('IsEnum of both', v.IsEnum(Mixed)),
  sample('IsEnum of an object', v.IsEnum(odd)),
  sample('IsEnum of a list', v.IsEnum(['a', 'b'])),
  sample(
    'IsEnum of numbers under a condition',
    [v.ValidateIf(() => true), v.IsEnum(Numbered)],
    'conditions',
  ),
  sample('Allow', v.Allow()),
  sample('Max', v.Max(5)),
  sample('MaxLength', v.MaxLength(3)),
  sample('MinDate', v.MinDate(new Date(0)), 'the order of dates'),
  sample('MaxDate', v.MaxDate(new Date(0)), 'the order of dates'),
  sample('IsDate', v.IsDate(), calendar),
  sample('IsDate of each', v.IsDate({ each: true }), calendar),
  sample('IsInstance', v.IsInstance(Date), 'classes'),
  ...(
    [
      ['IsDecimal', v.IsDecimal()],
      ['IsByteLength', v.IsByteLength(1, 3)],
      ['IsCurrency', v.IsCurrency()],
      ['IsFullWidth', v.IsFullWidth()],
      ['IsHalfWidth', v.IsHalfWidth()],
      ['IsVariableWidth', v.IsVariableWidth()],
      ['IsMACAddress', v.IsMACAddress()],
      ['IsISIN', v.IsISIN()],
      ['IsMobilePhone', v.IsMobilePhone('de-DE')],
      ['IsISO31661Alpha2', v.IsISO31661Alpha2()],
      ['IsISO31661Alpha3', v.IsISO31661Alpha3()],
      ['IsISO31661Numeric', v.IsISO31661Numeric()],
      ['IsMultibyte', v.IsMultibyte()],
      ['IsSurrogatePair', v.IsSurrogatePair()],
      ['IsFirebasePushId', v.IsFirebasePushId()],
      ['IsUppercase', v.IsUppercase()],
      ['IsHash', v.IsHash('md5')],
      ['IsISSN', v.IsISSN()],
      ['IsBase32', v.IsBase32()],
      ['IsBIC', v.IsBIC()],
      ['IsBtcAddress', v.IsBtcAddress()],
      ['IsDataURI', v.IsDataURI()],
      ['IsEAN', v.IsEAN()],
      ['IsEthereumAddress', v.IsEthereumAddress()],
      ['IsHSL', v.IsHSL()],
      ['IsIdentityCard', v.IsIdentityCard('ES')],
      ['IsISRC', v.IsISRC()],
      ['IsMagnetURI', v.IsMagnetURI()],
      ['IsPassportNumber', v.IsPassportNumber('DE')],
      ['IsPostalCode', v.IsPostalCode('any')],
      ['IsRgbColor', v.IsRgbColor()],
      ['IsSemVer', v.IsSemVer()],
      ['IsStrongPassword', v.IsStrongPassword()],
      ['IsTimeZone', v.IsTimeZone()],
      ['IsBase58', v.IsBase58()],
      ['IsTaxId', v.IsTaxId('de-DE')],
      ['IsISO4217CurrencyCode', v.IsISO4217CurrencyCode()],
      ['IsISO6391', v.IsISO6391()],
    ] as const
  ).map(([name, decorator]) => sample(name, decorator, letters)),
  sample('IsString', v.IsString()),
  sample('IsBoolean', v.IsBoolean()),
  sample('IsObject', v.IsObject()),
  sample('IsNotEmptyObject', v.IsNotEmptyObject()),
  sample('IsInt', v.IsInt()),
  sample('IsInt for each', v.IsInt({ each: true })),
  sample('IsNotEmpty for each', v.IsNotEmpty({ each: true })),
  sample('IsArray, IsInt for each', [v.IsArray(), v.IsInt({ each: true })]),
  sample('IsNumber', v.IsNumber()),
  sample('IsNumber without decimals', v.IsNumber({ maxDecimalPlaces: 0 })),
  sample('IsPositive', v.IsPositive()),
  sample('IsNegative', v.IsNegative()),
  sample('IsDivisibleBy', v.IsDivisibleBy(3)),
  sample('Min and Max', [v.Min(1), v.Max(5)]),
  sample('MinLength', v.MinLength(2)),
  sample('Length', v.Length(2, 4)),
  sample('Matches', v.Matches(/^[a-c]+$/i)),
  sample('Contains', v.Contains('a.')),
  sample('NotContains', v.NotContains('a')),
  sample('IsArray', v.IsArray()),
  sample('ArrayNotEmpty', v.ArrayNotEmpty()),
  sample('ArrayMinSize and ArrayMaxSize', [v.ArrayMinSize(1), v.ArrayMaxSize(2)]),
  sample('ArrayContains', v.ArrayContains([1])),
  sample('ArrayNotContains', v.ArrayNotContains([1])),
  sample('ArrayUnique', v.ArrayUnique(), 'objects are compared by identity'),
  sample('ArrayUnique of texts', [v.ArrayUnique(), v.IsString({ each: true })]),
  sample('IsDateString', v.IsDateString(), calendar),
  sample('IsISO8601', v.IsISO8601(), calendar),
  sample('IsRFC3339', v.IsRFC3339(), calendar),
  sample('IsEmail', v.IsEmail(), 'the validator knows no idn-email'),
  sample('IsUrl', v.IsUrl(), 'addresses without a scheme'),
  sample('IsFQDN', v.IsFQDN(), 'the validator knows no idn-hostname'),
  sample('IsUUID', v.IsUUID(), 'variants of UUIDs'),
  sample('IsUUID 4', v.IsUUID('4'), 'variants of UUIDs'),
  sample('IsIP', v.IsIP(), 'how addresses are shortened'),
  sample('IsIP 4', v.IsIP('4')),
  sample('IsAlpha', v.IsAlpha()),
  sample('IsAlphanumeric', v.IsAlphanumeric()),
  sample('IsNumberString', v.IsNumberString()),
  sample('IsBooleanString', v.IsBooleanString()),
  sample('IsHexadecimal', v.IsHexadecimal()),
  sample('IsOctal', v.IsOctal()),
  sample('IsHexColor', v.IsHexColor()),
  sample('IsMongoId', v.IsMongoId()),
  sample('IsMilitaryTime', v.IsMilitaryTime()),
  sample('IsPort', v.IsPort(), 'numbers in a text'),
  sample('IsAscii', v.IsAscii()),
  sample('IsJWT', v.IsJWT(), 'lengths of base64'),
  sample('IsLatitude', v.IsLatitude(), 'numbers that are written with an exponent'),
  sample('IsLongitude', v.IsLongitude(), 'numbers that are written with an exponent'),
  sample('IsLatLong', v.IsLatLong(), 'degrees'),
  sample('IsCreditCard', v.IsCreditCard(), checksums),
  sample('IsISBN', v.IsISBN(), checksums),
  sample('IsIBAN', v.IsIBAN(), checksums),
  sample('IsJSON', v.IsJSON(), 'JSON in a text'),
  sample('IsLowercase', v.IsLowercase(), 'cases of letters'),
  sample('IsLocale', v.IsLocale(), checksums),
  sample('IsMimeType', v.IsMimeType(), checksums),
  sample('IsPhoneNumber', v.IsPhoneNumber('DE'), checksums),
  sample('IsBase64', v.IsBase64(), 'counts of characters'),
  sample(
    'a rule under a condition',
    [v.ValidateIf((one: { other?: unknown }) => one.other === 1), v.IsInt()],
    'conditions',
  ),
  sample(
    "a rule of one's own",
    v.ValidateBy({ name: 'own', validator: { validate: (value) => value === 7 } }),
    "rules of one's own",
  ),
]

/** A class with one property, `value`, and a route that takes it. */
function bodyClass({ decorators }: Sample): new () => object {
  class Body {
    value: unknown
  }
  for (const decorate of decorators) decorate(Body.prototype, 'value')
  return Body
}

async function start(): Promise<Application> {
  const controllers = samples.map((one, index) => {
    const body = bodyClass(one)
    Object.defineProperty(body, 'name', { value: `Body${index}` })
    @Controller(`/${index}`)
    class Controlled {
      @Post('/', { body })
      @NoAuth
      take() {
        return { ok: true }
      }
      @Get('/', { query: body })
      search() {
        return { ok: true }
      }
    }
    return Controlled
  })
  class AppModule {}
  Module({ controllers })(AppModule)
  return bootstrap(AppModule, { listen: false, logger: false })
}

const interesting: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  0,
  1,
  -1,
  3,
  5,
  6,
  7,
  1.5,
  -1.5,
  2 ** 31,
  2 ** 53,
  0.1,
  90,
  -90,
  91,
  181,
  '',
  'a',
  'A',
  'b',
  'ab',
  'abc',
  'ABC',
  'abcde',
  'a.',
  'xa.x',
  'aax',
  'Ff1',
  'bX',
  '😀',
  '😀😀😀',
  'ä',
  '5',
  '-1.5',
  '1e3',
  '.5',
  '0x1F',
  '0o17',
  'true',
  '1',
  'red',
  'Red',
  '#fff',
  'fff',
  '507f1f77bcf86cd799439011',
  '23:59',
  '24:00',
  '8080',
  '65536',
  '00',
  '2026-11-20',
  '2026-02-30',
  '2026-11-20T10:00',
  '2026-11-20T10:00:00Z',
  '2026-11-20T10:00:00+02:00',
  '2026-11-20 10:00:00.123Z',
  '20261120',
  '2026-W47-5',
  '2026-324',
  '2026',
  '2026-11',
  '10:30',
  '10:30:00',
  '10:30:00Z',
  '25:00',
  'a@example.com',
  'ä@exämple.com',
  'a@b',
  'a@@example.com',
  `${'x'.repeat(65)}@example.com`,
  'http://example.com/a?b=c#d',
  'https://exämple.com/ü',
  'HTTP://EXAMPLE.com',
  'example.com',
  'exämple.com',
  'localhost',
  'example.com.',
  'http://a b',
  'http://a/"x"',
  'http://a/%zz',
  'ftp://example.com',
  '-a.com',
  '127.0.0.1',
  '256.1.1.1',
  '01.2.3.4',
  '::1',
  'fe80::1%eth0',
  '1::2::3',
  '::ffff:1.2.3.4',
  'f47ac10b-58cc-4372-a567-0e02b2c3d479',
  'F47AC10B-58CC-1372-A567-0E02B2C3D479',
  'F47AC10B-58CC-4372-A567-0E02B2C3D479',
  ...['01.5', '1.50', '1.500', '1.505', '-2.000', '-0.00', '.', '-.50', '0.5', '-02', '20'],
  ...['01', '-0', '-05', '05', '+5', '9007199254740993', '0'.repeat(30), '0'.repeat(31)],
  ...[['1.5'], ['2'], [true], [true, 1]],
  '00000000-0000-0000-0000-000000000000',
  'urn:uuid:f47ac10b-58cc-4372-a567-0e02b2c3d479',
  'lamp-shade',
  'Lamp',
  '+4930123456',
  '+0123',
  'YQ==',
  'YWI=',
  'YWJj',
  'YWJjZA==',
  'a===',
  '52.5,13.4',
  '90',
  '-180',
  '180.5',
  '(52.5',
  'aGk.aGk.aGk',
  '4111111111111111',
  'DE89370400440532013000',
  '{"a":1}',
  'de-DE',
  'text/plain',
  'line\nbreak',
  [],
  [1],
  [1, 1],
  [1, 2],
  [1, 2, 3],
  ['a'],
  ['a', 'a'],
  ['a', 'b'],
  [''],
  [null],
  ['a', 1],
  [{}, {}],
  [[1]],
  {},
  { a: 1 },
  { a: null },
  { length: 2 },
  ...['Blue', 'Mixed', 'c', '1st', [0], ['Red'], [5, 0], 'ABC-123', '#FFF', 'rgb(1,2,3)'],
  ...['hsl(1,1%,1%)', '1.2.3', 'Europe/Berlin', 'DE', 'DEU', '276', 'EUR', 'de', 'DEUTDEFF'],
  ...['0x52908400098527886E0F7030069857D2E4169EE7', '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2'],
  ...['data:text/plain,hi', 'magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a'],
  ...[
    'US0378331005',
    '0378-5955',
    '4006381333931',
    'GBAYE0601498',
    'MFRGG===',
    '00:1b:44:11:3a:b7',
  ],
  ...[
    '+4915112345678',
    '015112345678',
    '10115',
    'C01X00T47',
    'aA1!aaaa',
    '12,345.67',
    '86095742719',
  ],
  ...['d41d8cd98f00b204e9800998ecf8427e', 'ｱｲｳ', 'ａｂｃ', 'aｱ', 'Lone'],
]

describe('the document and the server', () => {
  it('agree on every rule of a body, and the document is never narrower', async () => {
    await using app = await start()
    const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false })
    addFormats(ajv)
    ajv.addSchema(app.openapi, 'document')
    const disagreements: string[] = []
    for (const [index, one] of samples.entries()) {
      const validate = ajv.compile({
        $ref: `document#/paths/~1${index}/post/requestBody/content/application~1json/schema`,
      })
      const random = fc.sample(
        fc.oneof(
          fc.jsonValue({ maxDepth: 2 }).filter(isPlain),
          fc.string({ unit: 'binary' }).filter(isSendable),
        ),
        { numRuns: 60, seed: index },
      )
      for (const value of [...interesting, ...random]) {
        const body = value === undefined ? {} : { value }
        const { status } = await app.inject({ method: 'POST', url: `/${index}`, json: body })
        const isValid = validate(JSON.parse(JSON.stringify(body)))
        if (status === 200 && !isValid)
          disagreements.push(
            `${one.name} is narrower: ${JSON.stringify(value)} (${ajv.errorsText(validate.errors)})`,
          )
        if (status !== 200 && isValid && one.wider === undefined)
          disagreements.push(`${one.name} is wider: ${JSON.stringify(value)}`)
      }
    }
    expect(disagreements).toEqual([])
  })

  it('are compared for every decorator of class-validator', () => {
    const isRule = (name: string): boolean =>
      /^(?:Is|Array|Min|Max|Allow$|Length$|Equals$|Not|Contains$|Matches$)/.test(name)
    const ruleNames = Object.keys(v).filter((name) => isRule(name) && /[a-z]/.test(name))
    const listed = new Set(samples.flatMap(({ name }) => name.split(/[ ,]+/)))
    expect(ruleNames.length).toBeGreaterThan(100)
    expect(ruleNames.filter((name) => !listed.has(name))).toEqual([])
  })

  it('agree on texts of queries and forms', async () => {
    const texts = [
      '',
      'on',
      '0',
      '1',
      'true',
      'false',
      'yes',
      'null',
      '2',
      '01.5',
      '1.50',
      '{"a":1}',
    ]
    const expected = [
      ...['boolean', 'one boolean', 'list of booleans', 'some decimals', 'nullable json'],
      ...['optional boolean', 'optional integer', 'only false'],
    ]
    await using app = await start()
    const ajv = new Ajv2020({ strict: false, logger: false })
    addFormats(ajv)
    ajv.addSchema(app.openapi, 'document')
    const disagreements: string[] = []
    for (const [index, one] of samples.entries()) {
      if (!expected.includes(one.name)) continue
      const route = `document#/paths/~1${index}`
      const media = one.name === 'nullable json' ? 'content/application~1json/schema' : 'schema'
      const parameter = ajv.compile({ $ref: `${route}/get/parameters/0/${media}` })
      const bodies = ['application~1x-www-form-urlencoded', 'multipart~1form-data'].map((type) =>
        ajv.compile({ $ref: `${route}/post/requestBody/content/${type}/schema` }),
      )
      for (const text of texts) {
        const value = new URLSearchParams({ value: text })
        const form = new FormData()
        form.append('value', text)
        const responses = [
          await app.inject({ url: `/${index}?${value}` }),
          await app.inject({ method: 'POST', url: `/${index}`, form: { value: text } }),
          await app.inject({ method: 'POST', url: `/${index}`, multipart: form }),
        ]
        const meaningValues = meanings(text, one)
        const results = [
          meaningValues.some((one) => parameter(one)),
          ...bodies.map((validate) => meaningValues.some((one) => validate({ value: one }))),
        ]
        const accepted = responses.map(({ status }) => status === 200)
        if (accepted.join() !== results.join())
          disagreements.push(`${one.name} ${text}: ${accepted.join()} and ${results.join()}`)
      }
    }
    expect(disagreements).toEqual([])
  })

  it('agree on every rule of a query and a form, and the document is never narrower', async () => {
    await using app = await start()
    const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false })
    addFormats(ajv)
    ajv.addSchema(app.openapi, 'document')
    const sent = interesting.filter((value) => typeof value === 'string')
    const disagreements: string[] = []
    for (const [index, one] of samples.entries()) {
      // Such texts are the same in bodies, queries and forms.
      if (one.wider === letters) continue
      const route = `#/paths/~1${index}`
      const [parameter] = app.openapi.paths?.[`/${index}`]?.get?.parameters ?? []
      const media = parameter !== undefined && 'content' in parameter
      const validate = ajv.compile({
        $ref: `document${route}/get/parameters/0/${media ? 'content/application~1json/schema' : 'schema'}`,
      })
      const form = ajv.compile({
        $ref: `document${route}/post/requestBody/content/application~1x-www-form-urlencoded/schema`,
      })
      for (const text of sent) {
        const number = /^-?(?:\d+|\d*\.\d+)$/.test(text) ? [Number(text), [Number(text)]] : []
        const texts = [...meanings(text, one), ...number]
        const meaningValues = media ? jsonOf(text) : texts
        const response = await app.inject({
          url: `/${index}?${new URLSearchParams({ value: text })}`,
        })
        if (response.status === 200 && !meaningValues.some((value) => validate(value)))
          disagreements.push(`${one.name} is narrower in a query: ${JSON.stringify(text)}`)
        const posted = await app.inject({ method: 'POST', url: `/${index}`, form: { value: text } })
        const values = [...texts, ...jsonOf(text)]
        if (posted.status === 200 && !values.some((value) => form({ value })))
          disagreements.push(`${one.name} is narrower in a form: ${JSON.stringify(text)}`)
      }
    }
    expect(disagreements).toEqual([])
  })

  it('agree on unknown keys, refused or dropped', async () => {
    class Named {
      @Field('string') name!: string
    }
    @Controller('/')
    class Both {
      @Post('/strict', { body: Named }) @NoAuth strict() {
        return 'ok'
      }
      @Post('/loose', { body: Named, unknownKeys: 'drop' }) @NoAuth loose() {
        return 'ok'
      }
    }
    @Module({ controllers: [Both] })
    class AppModule {}
    await using app = await bootstrap(AppModule, { listen: false, logger: false })
    const ajv = new Ajv2020({ strict: false, logger: false })
    ajv.addSchema(app.openapi, 'document')
    for (const path of ['strict', 'loose']) {
      const { status } = await app.inject({
        method: 'POST',
        url: `/${path}`,
        json: { name: 'a', more: 1 },
      })
      const validate = ajv.compile({
        $ref: `document#/paths/~1${path}/post/requestBody/content/application~1json/schema`,
      })
      expect([path, status, validate({ name: 'a', more: 1 })]).toEqual(
        path === 'strict' ? [path, 400, false] : [path, 200, true],
      )
    }
  })
})

/** A value that JSON bodies and the validator's arithmetic support: no key `__proto__`, no number over 2⁵³. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) <= 2 ** 53 || !Number.isInteger(value)
  return !JSON.stringify(value).includes('__proto__')
}

/** Lone surrogates and NUL are never sent in a text. */
function isSendable(text: string): boolean {
  return !/[\p{Surrogate}\0]/u.test(text)
}

/** The value of a JSON text. */
function jsonOf(text: string): unknown[] {
  try {
    return [JSON.parse(text)]
  } catch {
    return []
  }
}

/** Possible values of a text: itself, a number or a boolean, or a list of one of these; JSON for JSON. */
function meanings(text: string, { name }: Sample): unknown[] {
  if (name === 'nullable json') return jsonOf(text)
  const number = /^-?\d+$/.test(text) ? [Number(text)] : []
  const boolean = /^(?:true|false)$/.test(text) ? [text === 'true'] : []
  return [text, ...number, ...boolean].flatMap((one) => [one, [one]])
}
