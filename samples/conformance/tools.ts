/** The tools that the suite calls by name. Each is an ordinary route, which uses `toolCall` for requests and notifications to the client. */
import { setTimeout as wait } from 'node:timers/promises'
import { Controller, Field, Get } from 'filigree'
import { content, Tool, type ContentBlock, type ToolCall } from 'filigree/mcp'
import { picture, sound } from './media.js'

class Name {
  @Field('string') name!: string
}

class Color {
  @Field('string') color!: string
}

class Consent {
  @Field('boolean') ok!: boolean
}

class Prompted {
  @Field('string', { description: 'What the model is asked.' }) prompt!: string
}

const question = {
  messages: [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }],
  maxTokens: 100,
} as const
const greeting = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Generate a greeting' } }],
  maxTokens: 50,
} as const

function textOf(answer: Readonly<Record<string, unknown>>): string {
  const { text } = answer.content as { text?: string }
  return text ?? JSON.stringify(answer)
}

@Controller('/tools')
export class PlainTools {
  @Get('/simple-text')
  @Tool({ name: 'test_simple_text', description: 'Answers with a text.' })
  simpleText(): string {
    return 'This is a simple text response for testing.'
  }

  @Get('/image')
  @Tool({ name: 'test_image_content', description: 'Answers with a picture.' })
  image() {
    return content([picture])
  }

  @Get('/audio')
  @Tool({ name: 'test_audio_content', description: 'Answers with a sound.' })
  audio() {
    return content([sound])
  }

  @Get('/embedded')
  @Tool({ name: 'test_embedded_resource', description: 'Answers with a resource.' })
  embedded() {
    return content([embedded('test://embedded-resource', 'This is an embedded resource content.')])
  }

  @Get('/multiple')
  @Tool({
    name: 'test_multiple_content_types',
    description: 'Answers with text, picture and resource.',
  })
  multiple() {
    const text = JSON.stringify({ test: 'data', value: 123 })
    const resource = { uri: 'test://mixed-content-resource', mimeType: 'application/json', text }
    return content([
      { type: 'text', text: 'Multiple content types test:' },
      picture,
      { type: 'resource', resource },
    ])
  }

  @Get('/progress')
  @Tool({ name: 'test_tool_with_progress', description: 'Tells how far it is.' })
  async progress(toolCall: ToolCall | null): Promise<string> {
    for (const share of [0, 0.5, 1]) {
      toolCall?.progress(share, `Completed step ${share * 100} of 100`)
      await wait(50)
    }
    return 'done'
  }

  @Get('/error')
  @Tool({ name: 'test_error_handling', description: 'Always fails.' })
  error(): never {
    throw new Error('This tool intentionally returns an error for testing')
  }

  @Get('/logging')
  @Tool({ name: 'test_logging_tool', description: 'Tells nothing ahead of its answer.' })
  logging(): string {
    return 'nothing is logged to clients'
  }

  @Get('/streaming')
  @Tool({ name: 'test_streaming_elicitation', description: 'Asks nothing on its stream.' })
  streaming(): string {
    return 'result frames only'
  }
}

function embedded(uri: string, text: string): ContentBlock {
  return { type: 'resource', resource: { uri, mimeType: 'text/plain', text } }
}

@Controller('/asking')
export class AskingTools {
  @Get('/capability')
  @Tool({ name: 'test_missing_capability', description: 'Needs a client with a model.' })
  async capability(toolCall: ToolCall | null): Promise<string> {
    await toolCall?.sample('llm_answer', greeting)
    return 'sampling round-trip complete'
  }

  @Get('/sampling', { query: Prompted })
  @Tool({ name: 'test_sampling', description: 'Asks the model of the client.' })
  async sampling(query: Prompted, toolCall: ToolCall | null): Promise<string> {
    const text = { role: 'user', content: { type: 'text', text: query.prompt } } as const
    const answer = await toolCall?.sample('answer', { messages: [text], maxTokens: 100 })
    return `LLM response: ${textOf(answer ?? {})}`
  }

  @Get('/name')
  @Tool({ name: 'test_input_required_result_elicitation', description: 'Asks for a name.' })
  async name(toolCall: ToolCall | null): Promise<string> {
    const answer = await toolCall?.ask('user_name', Name, 'What is your name?')
    return `Hello, ${answer?.name ?? 'nobody'}!`
  }

  @Get('/capital')
  @Tool({ name: 'test_input_required_result_sampling', description: 'Asks for a capital.' })
  async capital(toolCall: ToolCall | null): Promise<string> {
    const answer = await toolCall?.sample('capital_question', question)
    return `Sampling response: ${textOf(answer ?? {})}`
  }

  @Get('/roots')
  @Tool({ name: 'test_input_required_result_list_roots', description: 'Asks for the roots.' })
  async roots(toolCall: ToolCall | null): Promise<string> {
    const roots = (await toolCall?.roots('client_roots')) ?? []
    return `Client exposed ${roots.length} root(s): ${roots.map(({ uri }) => uri).join(', ')}`
  }

  @Get('/state')
  @Tool({ name: 'test_input_required_result_request_state', description: 'Asks, with a state.' })
  async state(toolCall: ToolCall | null): Promise<string> {
    await toolCall?.ask('confirm', Consent, 'Please confirm')
    return 'state-ok: the state was verified'
  }

  @Get('/tampered')
  @Tool({ name: 'test_input_required_result_tampered_state', description: 'Asks, with a state.' })
  async tampered(toolCall: ToolCall | null): Promise<string> {
    await toolCall?.ask('confirm', Consent, 'Please confirm')
    return 'integrity-ok: the state was verified'
  }

  @Get('/multiple')
  @Tool({
    name: 'test_input_required_result_multiple_inputs',
    description: 'Asks three questions in one request.',
  })
  async multiple(toolCall: ToolCall | null): Promise<string> {
    if (toolCall === null) return 'Nobody to ask.'
    const [person, words, roots] = await Promise.all([
      toolCall.ask('user_name', Name, 'What is your name?'),
      toolCall.sample('greeting', greeting),
      toolCall.roots('client_roots'),
    ])
    return `${textOf(words)} ${person?.name ?? 'nobody'}: ${roots.length} root(s) visible`
  }

  @Get('/rounds')
  @Tool({ name: 'test_input_required_result_multi_round', description: 'Asks twice.' })
  async rounds(toolCall: ToolCall | null): Promise<string> {
    const person = await toolCall?.ask('step1', Name, 'Step 1: What is your name?')
    const liking = await toolCall?.ask('step2', Color, 'Step 2: What is your favorite color?')
    return `Multi-round complete: ${person?.name ?? ''} likes ${liking?.color ?? ''}`
  }

  @Get('/capabilities')
  @Tool({
    name: 'test_input_required_result_capabilities',
    description: 'Asks what can be answered.',
  })
  async capabilities(toolCall: ToolCall | null): Promise<string> {
    const { capabilities = {} } = toolCall ?? {}
    await Promise.all([
      'elicitation' in capabilities && toolCall?.ask('user_name', Name, 'What is your name?'),
      'sampling' in capabilities && toolCall?.sample('greeting', greeting),
      'roots' in capabilities && toolCall?.roots('client_roots'),
    ])
    return 'Capability-aware input requests fulfilled'
  }
}
