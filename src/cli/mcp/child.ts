/**
 * The process of `filigree mcp` that loads the application for one question: what it writes, starts or leaves open is gone
 * with the answer, and the next one reads its sources anew.
 */
import { describeFailure } from '../describe-error.js'
import { Redactor } from '../dev/redactor.js'
import { loadSources } from '../load-application.js'
import { UsageError } from '../command.js'
import { withoutPasswords } from '../dev/secret-patterns.js'
import { answerQuestion } from './application-queries.js'
import type { Question } from './tool.js'

export interface QuestionMessage {
  readonly question: Question
  readonly module: string | undefined
}

export type AnswerMessage =
  | { readonly is: 'answer'; readonly value: unknown }
  | { readonly is: 'fault'; readonly text: string }

process.once('message', (message) => {
  const { question, module } = message as QuestionMessage
  const nothing = (): Promise<void> => Promise.resolve()
  const terminal = { out: nothing, err: nothing, cwd: process.cwd(), loadSources }
  void answerQuestion(question, module, terminal).then((value) => {
    tell({ is: 'answer', value })
  }, fail)
})
process.once('uncaughtException', fail)

function fail(error: unknown): void {
  const text =
    error instanceof UsageError ? error.message : describeFailure('The application', error)
  tell({ is: 'fault', text: withoutPasswords(new Redactor(process.env).text(text)) })
}

function tell(message: AnswerMessage): void {
  process.send?.(message, undefined, undefined, () => process.exit())
}
