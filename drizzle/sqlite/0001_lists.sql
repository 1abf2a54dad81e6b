CREATE INDEX `{prefix}job_state` ON `{prefix}job` (`state`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_task` ON `{prefix}job` (`task`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_group` ON `{prefix}job` (`group_`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}job_submitter` ON `{prefix}job` (`submitter`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_status` ON `{prefix}periodic_task` (`status`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_task` ON `{prefix}periodic_task` (`task`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_group` ON `{prefix}periodic_task` (`group_`,`id`);--> statement-breakpoint
CREATE INDEX `{prefix}periodic_task_submitter` ON `{prefix}periodic_task` (`submitter`,`id`);